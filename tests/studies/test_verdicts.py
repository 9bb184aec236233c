"""The study of verdicts: what its rows mean, its claims, and the study at its smallest size."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from levelled.models import seeded_copy, takes_weights
from levelled_studies.learning.page import replace_section
from levelled_studies.regret import WAYS
from levelled_studies.runner import Results, run
from levelled_studies.study import Claim
from levelled_studies.verdicts import STUDIES, trial
from levelled_studies.verdicts.page import lines, write
from levelled_studies.verdicts.problems import (
    blobs,
    draw_far,
    draw_uncertain,
    moons,
    paper_by_learner,
    saturating,
)
from levelled_studies.verdicts.report import claims, outcomes
from levelled_studies.verdicts.settings import SETTINGS
from levelled_studies.verdicts.trial import VerdictSettings, count_fits, tasks

STUDY = STUDIES["verdicts"]
DOCS = Path(__file__).parents[2] / "docs"
SMOKE = VerdictSettings(
    trajectories=4,
    batch=2,
    names=("line, 30 labels", "line by a learner, 30", "tree on moons, 60", "curve in x, 100"),
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Results:
    assert STUDY.presets["smoke"] == SMOKE
    return run(STUDY, SMOKE, tmp_path_factory.mktemp("verdicts"))


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


def made(setting: str, advice: str = "correct", fits: int = 12, **levels: float) -> list[Any]:
    """Ten runs whose risks are about 1 or the level of a way."""
    return [
        {
            "setting": setting,
            "trajectory": at,
            **{way: levels.get(way, 1.0) * (1 + at / 100) for way in WAYS},
            "amount": 0.6,
            "advice": advice,
            "former": "correct",
            "fits": fits,
        }
        for at in range(10)
    ]


LINE = made("line, 30 labels", LURE=0.7, share=0.68)


def claimed(name: str, *rows: dict[str, object]) -> Claim:
    found = claims(pa.Table.from_pylist([*LINE, *rows]), SMOKE)
    return next(claim for claim in found if claim.name == name)


def test_the_share_is_to_gain_as_much_on_the_line_as_the_weights() -> None:
    assert claimed("verdicts-line").verdict == "holds"
    assert claimed("verdicts-line").measured.startswith("beside plain training -32.0% ± 0.0%")
    less = made("line by a learner, 30", LURE=0.7, share=0.72)
    assert claimed("verdicts-line-learner", *less).verdict == "does not hold"


def test_advice_is_right_by_the_mean_risk_of_its_setting() -> None:
    measured = claimed("verdicts-words").measured
    assert re.match(r'10 of 10 "correct"; 0 of 0 ".*" in 10', measured)
    against = made("tree on moons, 60", "do not correct", LURE=1.02)
    assert claimed("verdicts-words", *against).verdict == "holds"
    wrong = made("curve in x, 100", "do not correct", LURE=0.9)
    assert claimed("verdicts-words", *wrong).verdict == "does not hold"


def test_a_decision_of_too_many_fits_is_seen() -> None:
    assert claimed("verdicts-fits").verdict == "holds"
    assert claimed("verdicts-fits", *made("curve in x, 100", fits=13)).verdict == "does not hold"


@pytest.mark.parametrize("model", [Ridge(), make_pipeline(StandardScaler(), LinearRegression())])
def test_fits_of_copies_are_counted(model: Any) -> None:  # noqa: ANN401
    counter = count_fits(model)
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    for _ in range(3):
        seeded_copy(model, 0).fit(X, y)
    assert counter == [3]
    assert takes_weights(model)


def test_the_study_leaves_a_table_a_figure_and_a_claim_for_each_promise(ran: Results) -> None:
    assert {path.suffix for path in ran.files} >= {".csv", ".png", ".svg", ".json"}
    assert [claim.name.removeprefix("verdicts-") for claim in ran.claims] == [
        *("line", "line-learner"),
        *(f"share-{each}" for each in ("mean", "worst", "naive", "control", "verdict")),
        *("words", "fits"),
    ]


def test_weights_help_on_the_line_and_a_decision_takes_twelve_fits(ran: Results) -> None:
    found = outcomes(ran.table)
    for name in ("line, 30 labels", "line by a learner, 30"):
        assert found[name].gain > 0.1
        assert found[name].fits == 12
        assert found[name].cell.beside("share", "naive").mean < -0.1


def test_a_batch_can_be_run_alone_and_gives_the_same(ran: Results) -> None:
    at = tasks(SMOKE).index("line by a learner, 30; 2")
    seed = np.random.SeedSequence(SMOKE.seed).spawn(len(tasks(SMOKE)))[at]
    alone = trial.run(SMOKE, "line by a learner, 30; 2", np.random.default_rng(seed)).to_pylist()
    assert alone == ran.table.to_pylist()[2 * at : 2 * at + 2]


def test_an_uneven_number_of_runs_leaves_none_out() -> None:
    settings = replace(SMOKE, trajectories=3)
    table = trial.run(settings, "line, 30 labels; 2", np.random.default_rng(0))
    assert table["trajectory"].to_pylist() == [2]
    assert len(tasks(settings)) == 8


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_model_that_takes_weights(name: str) -> None:
    assert takes_weights(SETTINGS[name].model())


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


def test_a_learner_on_the_paper_s_problem_has_smoother_weights_than_lure() -> None:
    sample = paper_by_learner(30, np.random.default_rng(0))
    assert sample.weights is not None
    assert len(sample.draws) == 30
    assert sample.weights.mean() == pytest.approx(1)
