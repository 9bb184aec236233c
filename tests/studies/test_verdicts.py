"""The study of verdicts: what counts as right, and the study at its smallest size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from levelled.advice.models import takes_weights
from levelled.studies.runner import Results, run
from levelled.studies.verdicts import STUDIES, trial
from levelled.studies.verdicts.page import renewed, write
from levelled.studies.verdicts.problems import blobs, drawn_far, drawn_uncertain, moons, saturating
from levelled.studies.verdicts.report import is_right, outcomes
from levelled.studies.verdicts.settings import SETTINGS
from levelled.studies.verdicts.trial import VERDICTS, VerdictSettings, tasks

STUDY = STUDIES["verdicts"]
DOCS = Path(__file__).parents[2] / "docs"
SMOKE = VerdictSettings(
    repetitions=4,
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
    assert page.read_text() == renewed(page.read_text(), table), "write it anew: see page.py"
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


def test_the_study_leaves_a_table_a_figure_and_a_claim_for_each_promise(ran: Results) -> None:
    assert {path.suffix for path in ran.files} >= {".csv", ".png", ".svg", ".json"}
    assert [claim.name for claim in ran.claims] == [
        "verdict-line",
        "verdict-interpolating",
        "verdict-right",
        "verdict-right-unknown",
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


def test_an_uneven_number_of_repetitions_leaves_none_out() -> None:
    settings = replace(SMOKE, repetitions=3)
    table = trial.run(settings, "line, 60 labels; 2", np.random.default_rng(0))
    assert table["runs"].to_pylist() == [1]
    assert len(tasks(settings)) == 8


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_model(name: str) -> None:
    setting = SETTINGS[name]
    assert takes_weights(setting.model()) == (name != "1-nearest neighbour, 60")


def test_draws_of_the_study_favour_what_their_score_favours() -> None:
    rng = np.random.default_rng(0)
    far = drawn_far(saturating, 400, 100, rng)
    weights = 1 / far.draws.probability / np.arange(400, 300, -1)
    assert far.pool.X[far.draws.index][10:].mean() > far.pool.X.mean()
    assert weights.max() <= 1 / 0.1 + 1e-9
    for population, classes in ((moons, 2), (blobs, 3)):
        sample = drawn_uncertain(population, 300, 40, rng)
        assert len(np.unique(sample.unseen.y)) == classes
        assert len(sample.draws) == 40
