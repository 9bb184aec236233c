"""The learning studies: fair splits, the same draws for every model, and what rows mean."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from levelled._check import FloatArray
from levelled.errors import InputError
from levelled.learning.settings import LearnerSettings
from levelled.models import CAP
from levelled_studies.runner import Results, run
from levelled_studies.study import Claim, Ruling, StudyError

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from levelled_studies.learning import loop
from levelled_studies.learning.data import DATA, DataRows, split
from levelled_studies.learning.models import MODELS, model
from levelled_studies.learning.page import replace_section, write
from levelled_studies.learning.reading import effect, read
from levelled_studies.learning.report import SMALLER, UNEVEN, claims
from levelled_studies.learning.settings import Case, LearningSettings, cases, tasks
from levelled_studies.learning.studies import STUDIES

SMALL = LearningSettings(trajectories=2, checkpoints=(20,), at_once=2)


def rows_of(case: str, seed: int = 0, **own: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    settings = replace(SMALL, cases=(case,), **own)
    found: list[dict[str, Any]] = loop.run(
        settings, f"{case} 0", np.random.default_rng(seed)
    ).to_pylist()
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Every study at its smallest size."""
    return {
        name: run(study, study.presets["smoke"], tmp_path_factory.mktemp(name))
        for name, study in STUDIES.items()
    }


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_leaves_a_table_a_figure_and_claims(name: str, ran: dict[str, Results]) -> None:
    results = ran[name]
    assert {path.suffix for path in results.files} == {".csv", ".json", ".png", ".svg"}
    assert len({each.name for each in results.claims}) == len(results.claims)
    for each in results.claims:
        assert each.verdict in get_args(Ruling)
        assert any(letter.isdigit() for letter in each.measured)


@pytest.mark.parametrize("name", STUDIES)
def test_the_smallest_size_needs_no_network(name: str) -> None:
    inside = {"diabetes", "breast-cancer", "digits"}
    smoke: Any = STUDIES[name].presets["smoke"]
    assert {case.data for case in cases(smoke)} <= inside


@pytest.mark.parametrize("name", STUDIES)
def test_every_case_is_one_of_data_a_model_and_words(name: str) -> None:
    for settings in STUDIES[name].presets.values():
        for case in cases(settings):  # type: ignore[arg-type]
            assert case.data in DATA
            assert case.model in MODELS
            assert case.title
            assert case.phrase


def test_pairs_are_of_cases_that_are_run() -> None:
    settings: list[Any] = [each for study in STUDIES.values() for each in study.presets.values()]
    known = {case for each in settings for case in each.cases}
    assert {case for pair in (*SMALLER, *UNEVEN) for case in pair} <= known


def test_learners_of_the_studies_have_the_default_floor() -> None:
    assert LearningSettings().floor == LearnerSettings(model("ridge")).floor


def test_a_task_run_again_gives_the_same_rows() -> None:
    assert rows_of("breast-cancer forest entropy") == rows_of("breast-cancer forest entropy")


def test_all_tasks_together_are_all_trajectories() -> None:
    settings = replace(SMALL, cases=("diabetes ridge geometric",), trajectories=3)
    found = [
        (row["trajectory"], row["labels"])
        for task in tasks(settings)
        for row in loop.run(settings, task, np.random.default_rng(0)).to_pylist()
    ]
    assert found == [(0, 20), (1, 20), (2, 20)]


def test_uniform_draws_train_the_same_model_with_and_without_weights() -> None:
    """All weights of R_LURE are one then; those of R_PURE are not."""
    for row in rows_of("diabetes ridge uniform"):
        assert row["LURE MSE"] == pytest.approx(row["naive MSE"], rel=1e-9)
        assert row["PURE MSE"] != row["naive MSE"]


def test_active_draws_train_other_models_with_weights() -> None:
    for row in rows_of("breast-cancer logistic entropy"):
        assert row["LURE Brier score"] != row["naive Brier score"]


def test_the_shuffled_control_and_the_share_are_blends_of_the_same_plain_model() -> None:
    for row in rows_of("breast-cancer tree entropy", checkpoints=(60,)):
        assert 0 <= row["share"] <= 1
        if row["share"] == 0:
            assert row["share Brier score"] == row["naive Brier score"]
        assert row["verdict Brier score"] in (row["naive Brier score"], row["LURE Brier score"])


def test_before_a_second_class_is_seen_weights_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One item of 400 is of the other class and not drawn: the model answers with the first.

    The class it holds for impossible costs the cap of the log loss.
    """
    X, y = np.random.default_rng(0).normal(size=(600, 2)), np.zeros(600, dtype=np.int64)
    y[[100, 500]] = 1
    monkeypatch.setitem(DATA, "rare", lambda: DataRows(X[:400], y[:400], X[400:], y[400:]))
    for row in rows_of("rare logistic entropy", test_size=200):
        assert row["naive error"] == row["PURE error"] == row["LURE error"] == 1 / 200
        assert row["naive log loss"] == row["LURE log loss"] == pytest.approx(CAP / 200)


def test_a_small_data_set_is_parted_in_two_thirds_and_the_rest() -> None:
    found = split("diabetes", 2000, 4000, rng=np.random.default_rng(0))
    assert (len(found.y), len(found.y_test)) == (294, 148)
    both = np.concatenate([found.X, found.X_test])
    assert len(np.unique(both, axis=0)) == 442
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-9)


def test_ratios_hold_in_the_pool_and_in_the_test_set(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.repeat([0, 1], 1000)
    source = DataRows(np.arange(2000.0)[:, None], y, ratios=np.array([0.98, 0.02]))
    apart = replace(source, X_test=source.X, y_test=y)
    monkeypatch.setitem(DATA, "together", lambda: source)
    monkeypatch.setitem(DATA, "apart", lambda: apart)
    found = split("apart", 500, 100, rng=np.random.default_rng(0))
    assert (found.y.sum(), len(found.y)) == (10, 500)
    assert (found.y_test.sum(), len(found.y_test)) == (2, 100)
    found = split("together", 500, 100, rng=np.random.default_rng(0))
    assert found.y.sum() + found.y_test.sum() == 12
    assert not set(found.X[:, 0]) & set(found.X_test[:, 0])


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(InputError, match="nothing"):
        split("nothing", 10, 10, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="nothing"):
        model("nothing")
    with pytest.raises(StudyError, match=r"25 .*batch of 10"):
        replace(SMALL, checkpoints=(20, 25))
    with pytest.raises(InputError, match=r"trajectories.*at least 2"):
        replace(SMALL, trajectories=1)


def made(
    case: str,
    change: FloatArray,
    overfitting: float = 0.5,
    pure: FloatArray | None = None,
    **levels: float,
) -> list[dict[str, Any]]:
    """Trajectories whose risk is 1 without weights and differs by `change` with them.

    `levels` are the risks of other ways of training, 1 unless given.
    """
    return [
        {
            **Case(*case.split())._asdict(),
            "trajectory": at,
            "labels": 200,
            "naive MSE": 1.0,
            "PURE MSE": 1 + other,
            "LURE MSE": 1 + one,
            **{f"{way} MSE": levels.get(way, 1.0) for way in ("verdict", "share", "shuffled")},
            "overfitting": overfitting,
            "bias": -0.1,
            "share": 0.5,
        }
        for at, (one, other) in enumerate(
            zip(change, change if pure is None else pure, strict=True)
        )
    ]


def claimed(rows: list[dict[str, Any]], name: str) -> Claim:
    every = tuple(dict.fromkeys(f"{row['data']} {row['model']} {row['score']}" for row in rows))
    found = claims("learning", pa.Table.from_pylist(rows), LearningSettings(cases=every))
    return next(claim for claim in found if claim.name == name)


LOWER, HIGHER = np.array([-0.11, -0.09] * 5), np.array([0.11, 0.09] * 5)
NOISE = np.array([-0.4, 0.42] * 5)
SMALL_MODEL, LARGE_MODEL = SMALLER[0]


def test_a_lower_risk_is_claimed_only_where_it_is_lower() -> None:
    name = f"learning-{SMALL_MODEL.replace(' ', '-')}"
    assert claimed(made(SMALL_MODEL, LOWER), name).verdict == "holds"
    assert "(-10.00 ± 0.33)%" in claimed(made(SMALL_MODEL, LOWER), name).measured
    assert claimed(made(SMALL_MODEL, HIGHER), name).verdict == "does not hold"
    assert claimed(made(SMALL_MODEL, LOWER + 0.1), name).verdict == "cannot tell"


def test_a_difference_needs_more_standard_errors_the_fewer_the_trajectories() -> None:
    """Both are some four standard errors below 0; Student's t at 95% asks for 12.7 and 2.3."""
    name = f"learning-{SMALL_MODEL.replace(' ', '-')}"
    two, ten = -0.1 + 0.025 * np.array([-1, 1]), -0.1 + 0.075 * np.array([-1, 1] * 5)
    assert claimed(made(SMALL_MODEL, two), name).verdict == "cannot tell"
    assert claimed(made(SMALL_MODEL, ten), name).verdict == "holds"


def test_claims_tell_their_rate_of_false_alarms() -> None:
    rows = made(SMALL_MODEL, LOWER, overfitting=0.1) + made(LARGE_MODEL, HIGHER)
    for name, rate in (
        (SMALL_MODEL.replace(" ", "-"), "a 5% chance of a"),
        ("overfitting", "a 5% chance of a"),
        ("lure-pure", r"at most a 5% chance .* in 2 comparisons"),
        ("share-control", r"at most a 5% chance .* in 2 comparisons"),
    ):
        because = claimed(rows, f"learning-{name}").because
        assert re.match(f".* 10 trajectories, with {rate}\\b", because)


@pytest.mark.parametrize(
    ("overfitting", "change", "verdict"),
    [(0.1, LOWER, "holds"), (0.9, LOWER, "does not hold"), (0.1, NOISE, "cannot tell")],
)
def test_the_rule_about_overfitting_looks_at_what_overfits_less(
    overfitting: float, change: FloatArray, verdict: str
) -> None:
    rows = made(SMALL_MODEL, change, overfitting=overfitting) + made(LARGE_MODEL, HIGHER)
    assert claimed(rows, "learning-overfitting").verdict == verdict


def test_a_rule_that_one_pair_shows_and_another_does_not_holds_partly() -> None:
    rows = made(SMALL_MODEL, LOWER, overfitting=0.1) + made(LARGE_MODEL, HIGHER)
    rows += made(SMALLER[1][0], NOISE, overfitting=0.1) + made(SMALLER[1][1], NOISE)
    found = claimed(rows, "learning-overfitting")
    assert found.verdict == "holds partly"
    so, reverse = found.because.split(": so for ")[1].split(";")
    assert so == "Adult: hours by age, ridge, geometric at M = 200"
    assert "none" in reverse


def test_the_rule_about_uneven_classes_looks_at_the_size_of_the_effect() -> None:
    uneven, even = UNEVEN[0]
    small = LOWER + 0.1
    assert claimed(made(uneven, HIGHER) + made(even, small), "learning-uneven").verdict == "holds"
    reverse = claimed(made(uneven, small) + made(even, LOWER), "learning-uneven")
    assert reverse.verdict == "does not hold"
    noise = claimed(made(uneven, NOISE) + made(even, NOISE), "learning-uneven")
    assert noise.verdict == "cannot tell"


@pytest.mark.parametrize(
    ("apart", "verdict"),
    [
        ((LOWER, LOWER), "holds"),
        ((LOWER, NOISE), "holds partly"),
        ((LOWER, HIGHER), "holds partly"),
        ((HIGHER, NOISE), "does not hold"),
        ((NOISE, NOISE), "cannot tell"),
        ((0 * NOISE, NOISE), "cannot tell"),
    ],
)
def test_lure_is_preferred_to_pure_only_where_it_is_shown_to_be_better(
    apart: tuple[FloatArray, FloatArray], verdict: str
) -> None:
    none = np.zeros(10)
    rows = made(SMALL_MODEL, apart[0], pure=none) + made(LARGE_MODEL, apart[1], pure=none)
    assert claimed(rows, "learning-lure-pure").verdict == verdict


def test_claims_on_the_share_are_about_all_cells_of_a_study() -> None:
    rows = made(SMALL_MODEL, LOWER, share=0.85) + made(LARGE_MODEL, HIGHER, share=1.0)
    found = claimed(rows, "learning-share-mean")
    assert found.measured.startswith("mean regret -2.78% over 2")
    assert found.verdict == "holds"
    assert claimed(rows, "learning-share-verdict").verdict == "holds partly"


def test_linear_models_have_to_keep_within_one_per_cent() -> None:
    rows = made(SMALL_MODEL, HIGHER, share=1.015)
    table, settings = pa.Table.from_pylist(rows), LearningSettings(cases=(SMALL_MODEL,))
    for study, verdict in (("learning-linear", "does not hold"), ("learning-trees", "holds")):
        found = claims(study, table, settings)
        assert next(c for c in found if c.name == f"{study}-share-worst").verdict == verdict


def test_a_cell_has_the_risks_of_each_way_after_some_labels() -> None:
    rows = made(SMALL_MODEL, LOWER, share=0.85)
    case = Case(*SMALL_MODEL.split())
    (cell,) = read(pa.Table.from_pylist(rows), case).cells(case)
    assert cell.title == "Adult: hours by age, ridge, geometric, M = 200"
    assert cell.regret("share") == pytest.approx(0.85 / 0.9 - 1)


def test_a_difference_common_to_all_trajectories_has_no_standard_error() -> None:
    beside = np.array([[1.0], [2.0], [5.0]])
    found = effect(np.array([10]), 0.9 * beside, beside)
    assert found.value[0] == pytest.approx(-0.1)
    assert found.stderr[0] == pytest.approx(0, abs=1e-15)


def test_the_pages_show_the_results_that_are_kept(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    for name in (*STUDIES, "learning-floor", "verdicts"):
        (tmp_path / "results" / name).mkdir(parents=True)
        for file in ("table.csv", "settings.json"):
            kept = docs / "results" / name / file
            (tmp_path / "results" / name / file).write_text(kept.read_text())
    pages = {"paper/studies.md": "learning", "advice.md": "shares", "learn.md": "floor"}
    (tmp_path / "paper").mkdir()
    for page, section in pages.items():
        shown = (docs / page).read_text()
        (tmp_path / page).write_text(replace_section(shown, section, ["gone"]))
    write(tmp_path)
    assert (tmp_path / "shares.png").exists()
    for page in pages:
        assert (tmp_path / page).read_text() == (docs / page).read_text(), "write it anew: page.py"


def test_a_page_without_a_place_for_results_is_told() -> None:
    with pytest.raises(StudyError, match="place for learning"):
        replace_section("# Studies", "learning", [])


def test_a_part_that_is_there_is_not_run_again(tmp_path: Path) -> None:
    study = replace(STUDIES["learning-linear"], figures=lambda table, settings: {})
    before = run(study, study.presets["smoke"], tmp_path)
    assert run(study, study.presets["smoke"], tmp_path).already_done
    (tmp_path / "parts" / "diabetes ridge geometric 1.parquet").unlink()
    after = run(study, study.presets["smoke"], tmp_path)
    assert after.table == before.table
