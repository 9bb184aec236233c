"""The study of verdicts: what counts as right, and the study at its smallest size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from levelled.models import takes_weights
from levelled_studies.learning.page import replace_section
from levelled_studies.runner import Results, run
from levelled_studies.study import Claim
from levelled_studies.verdicts import STUDIES, trial
from levelled_studies.verdicts.page import lines, write
from levelled_studies.verdicts.problems import blobs, draw_far, draw_uncertain, moons, saturating
from levelled_studies.verdicts.report import claims, is_right, outcomes
from levelled_studies.verdicts.settings import SETTINGS
from levelled_studies.verdicts.trial import VERDICTS, VerdictSettings, tasks

STUDY = STUDIES["verdicts"]
DOCS = Path(__file__).parents[2] / "docs"
SMOKE = VerdictSettings(
    trajectories=4,
    batch=2,
    names=("line, 30 labels", "line, 60 labels", "tree on moons, 60", "curve in x, 100"),
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Results:
    assert STUDY.presets["smoke"] == SMOKE
    return run(STUDY, SMOKE, tmp_path_factory.mktemp("verdicts"))


@pytest.mark.parametrize(
    ("advice", "right_where"),
    [
        ("correct", [False, False, False, True]),
        ("do not correct", [True, True, True, False]),
        ("no difference", [False, True, True, False]),
    ],
)
def test_a_verdict_is_right_by_the_gain_of_its_setting(
    advice: str, right_where: list[bool]
) -> None:
    gains = (-0.1, -0.01, 0.02, 0.1)
    assert [is_right(advice, gain, 0.02) for gain in gains] == right_where


def test_the_page_on_advice_shows_the_results_that_are_kept(tmp_path: Path) -> None:
    page = DOCS / "advice.md"
    table = pacsv.read_csv(DOCS / "results" / "verdicts" / "table.csv")
    shown = page.read_text()
    assert shown == replace_section(shown, "verdicts", lines(table)), "write it anew: see page.py"
    (tmp_path / "results" / "verdicts").mkdir(parents=True)
    copied = tmp_path / "advice.md"
    copied.write_text(page.read_text().replace("| line, 30", "| lime, 30"))
    pacsv.write_csv(table, tmp_path / "results" / "verdicts" / "table.csv")
    write(copied)
    assert copied.read_text() == page.read_text()


def test_batches_are_put_together_as_if_they_were_one() -> None:
    rng = np.random.default_rng(0)
    naive, lure = rng.random(10) + 1, rng.random(10)
    gain = naive - lure

    def batch(part: slice) -> dict[str, object]:
        none = {f"{each}{what}": 0 for each in VERDICTS for what in ("", "; lower", "; higher")}
        n = len(gain[part])
        sums = {"naive": naive[part].sum(), "pure": 0.0, "lure": lure[part].sum()}
        given = {"correct": n, "correct; lower": int((gain[part] > 0).sum())}
        squares = {"gain squared": (gain[part] ** 2).sum()}
        return {"setting": "line, 30 labels", "runs": n, **none, **given, **sums, **squares}

    table = pa.Table.from_pylist([batch(slice(0, 4)), batch(slice(4, 10))])
    found = outcomes(table)["line, 30 labels"]
    assert (found.runs, found.counts["correct"], found.n_decided) == (10, 10, 10)
    assert found.gain == pytest.approx(gain.mean() / naive.mean())
    assert found.stderr == pytest.approx(gain.std(ddof=1) / np.sqrt(10) / naive.mean())


def made(setting: str, gain: float, spread: float = 0.0, **given: int) -> dict[str, object]:
    """A table's row of ten runs with these verdicts and gains about that, over a risk of one."""
    counts = {each: given.get(each.replace(" ", "_"), 0) for each in VERDICTS}
    lower = {f"{each}; lower": n if gain > 0 else 0 for each, n in counts.items()}
    higher = {f"{each}; higher": n if gain < 0 else 0 for each, n in counts.items()}
    sums = {"naive": 10.0, "pure": 10.0, "lure": 10 * (1 - gain)}
    squares = {"gain squared": 10 * (gain**2 + spread**2)}
    return {"setting": setting, "runs": 10, **counts, **lower, **higher, **sums, **squares}


LINES = [made(f"line, {labels} labels", 0.3, correct=10) for labels in (30, 60)]


def claimed(name: str, *rows: dict[str, object]) -> Claim:
    found = claims(pa.Table.from_pylist([*LINES, *rows]), SMOKE)
    return next(claim for claim in found if claim.name == name)


def test_models_without_weights_are_right_for_nothing_and_can_be_left_out() -> None:
    rows = (
        made("1-nearest neighbour, 60", 0.0, no_difference=10),
        made("logistic on moons, 60", -0.03, correct=4, not_enough_labels=6),
    )
    everywhere, taking = (claimed(f"verdict-{of}", *rows) for of in ("right", "right-weights"))
    assert everywhere.measured.startswith("88.2% of 34 verdicts in 40 runs")
    assert taking.measured.startswith("83.3% of 24 verdicts in 30 runs")
    assert taking.verdict == "does not hold"


def test_a_share_that_hangs_on_a_truth_not_well_known_cannot_be_told() -> None:
    unsure = made("degree 9 ridge, 30", 0.019, 0.03, do_not_correct=10)  # 1.9% +- 1%
    found = claimed("verdict-right", unsure)
    assert found.measured.startswith(
        "100.0% of 30 verdicts in 30 runs; 66.7% to 100.0% where true gains are up to two standard"
    )
    assert found.verdict == "cannot tell"
    sure = made("degree 9 ridge, 30", 0.019, 0.001, do_not_correct=10)
    assert claimed("verdict-right", sure).verdict == "holds"


def test_advice_to_correct_is_counted_for_classifiers_alone() -> None:
    rows = (
        made("rare class, 200", 0.1, correct=6, not_enough_labels=4),
        made("rare class, 60", 0.01, correct=1, not_enough_labels=9),
        made("logistic on moons, 60", -0.03, correct=2, do_not_correct=8),
    )
    found = claimed("verdict-correct-classifiers", *rows)
    assert found.measured.startswith("6 of 9 (66.7%) in 30 runs; in settings where weights lower")
    assert found.measured.endswith(" 7")
    assert found.verdict == "does not hold"
    assert found.because == "Right ones are in: rare class, 200."
    assert claimed("verdict-correct-classifiers", rows[0]).verdict == "holds"


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([], "cannot tell"),
        ([("tree on moons, 60", 0.03, 9)], "cannot tell"),
        ([("tree on moons, 60", 0.01, 1)], "holds"),
        ([("tree on moons, 60", -0.01, 2)], "does not hold"),
        ([("tree on moons, 60", 0.01, 1), ("forest on moons, 60", 0.01, 2)], "holds partly"),
    ],
)
def test_where_no_interpolating_model_was_run_without_a_gain_nothing_is_claimed(
    given: list[tuple[str, float, int]], verdict: str
) -> None:
    rows = [
        made(name, gain, correct=correct, do_not_correct=10 - correct)
        for name, gain, correct in given
    ]
    found = claimed("verdict-interpolating", *rows)
    assert found.verdict == verdict
    assert "lower the risk by 2% or less" in found.says
    assert found.measured


def test_claims_about_verdicts_that_were_never_given_cannot_be_told() -> None:
    for name in ("verdict-correct-classifiers", "verdict-right-unknown"):
        assert claimed(name).verdict == "cannot tell"


def test_the_study_leaves_a_table_a_figure_and_a_claim_for_each_promise(ran: Results) -> None:
    assert {path.suffix for path in ran.files} >= {".csv", ".png", ".svg", ".json"}
    assert [claim.name for claim in ran.claims] == [
        "verdict-line",
        "verdict-interpolating",
        "verdict-right",
        "verdict-right-weights",
        "verdict-right-unknown",
        "verdict-correct-classifiers",
    ]
    table = ran.table.to_pandas()
    assert (table[list(VERDICTS)].sum(axis=1) == table["runs"]).all()


def test_weights_help_on_the_line_and_the_verdict_never_says_otherwise(ran: Results) -> None:
    found = outcomes(ran.table)
    assert found["line, 30 labels"].gain > 0.1
    assert found["line, 30 labels"].counts["do not correct"] == 0


def test_a_batch_can_be_run_alone_and_gives_the_same(ran: Results) -> None:
    at = tasks(SMOKE).index("line, 60 labels; 2")
    seed = np.random.SeedSequence(SMOKE.seed).spawn(len(tasks(SMOKE)))[at]
    alone = trial.run(SMOKE, "line, 60 labels; 2", np.random.default_rng(seed)).to_pylist()
    assert alone[0] == ran.table.to_pylist()[at]


def test_an_uneven_number_of_runs_leaves_none_out() -> None:
    settings = replace(SMOKE, trajectories=3)
    table = trial.run(settings, "line, 60 labels; 2", np.random.default_rng(0))
    assert table["runs"].to_pylist() == [1]
    assert len(tasks(settings)) == 8


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_model(name: str) -> None:
    setting = SETTINGS[name]
    assert takes_weights(setting.model()) == (name != "1-nearest neighbour, 60")


def test_draws_of_the_study_favour_what_their_score_favours() -> None:
    rng = np.random.default_rng(0)
    far = draw_far(saturating, 400, 100, rng)
    weights = 1 / far.draws.probability / np.arange(400, 300, -1)
    assert far.pool.X[far.draws.index][10:].mean() > far.pool.X.mean()
    assert weights.max() <= 1 / 0.1 + 1e-9
    for population, classes in ((moons, 2), (blobs, 3)):
        sample = draw_uncertain(population, 300, 40, rng)
        assert len(np.unique(sample.unseen.y)) == classes
        assert len(sample.draws) == 40
