"""The linear studies at the size for tests, through the runner."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from numpy.random import Generator

from levelled.backends import local
from levelled.errors import InputError
from levelled_studies import NAMES, find
from levelled_studies.runner import Results, run
from levelled_studies.study import Claim, Resumable, Ruling, Study, StudySettings
from levelled_studies.tables import at_budgets, curves

pytest.importorskip("matplotlib")

LINEAR = [name for name in NAMES if name.startswith("linear-")]
Ran = Callable[[str], Results]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The results of a study at its smallest size, run once."""
    done: dict[str, Results] = {}

    def results(name: str) -> Results:
        if name not in done:
            (study,) = find(name)
            done[name] = run(study, study.presets["smoke"], tmp_path_factory.mktemp(name))
        return done[name]

    return results


def claim(results: Results, name: str) -> Claim:
    return next(claim for claim in results.claims if claim.name == name)


def test_the_family_is_found_by_its_name() -> None:
    assert [study.name for study in find("linear")] == LINEAR
    assert len(LINEAR) == 10


@pytest.mark.parametrize("name", LINEAR)
def test_a_study_leaves_a_table_figures_and_claims(name: str, ran: Ran) -> None:
    results = ran(name)
    kinds = {path.suffix for path in results.files}
    assert kinds == {".csv", ".json", ".png", ".svg"}
    assert results.claims
    for each in results.claims:
        assert each.verdict in get_args(Ruling)
        assert each.where
        assert each.says
        assert any(letter.isdigit() for letter in each.measured)
    assert len({each.name for each in results.claims}) == len(results.claims)


@pytest.mark.parametrize("name", LINEAR)
def test_this_machine_runs_the_size_of_the_paper(name: str) -> None:
    (study,) = find(name)
    assert study.presets["cpu"] == study.presets["paper"]
    assert study.presets["paper"].trajectories == 1000  # type: ignore[attr-defined]


def test_the_naive_risk_is_far_off_and_the_weighted_ones_are_not(ran: Ran) -> None:
    """At 30 labels the naive risk is 0.20 too high; a bar of 0.12 tells the three apart.

    The weighted errors have a standard deviation of at most 0.033 and a kurtosis of at most 37
    there, so the fourth moment of a mean of 200 bounds the chance that one of the two reaches
    the bar: 10**-6. The naive error is 70 standard errors beyond it.
    """
    found = curves(ran("linear-bias").table)
    at = found["naive"].at(30)
    assert found["naive"].mean[at] < -0.12
    assert abs(found["PURE"].mean[at]) < 0.12
    assert abs(found["LURE"].mean[at]) < 0.12
    assert claim(ran("linear-bias"), "naive-biased").verdict == "holds"


def test_weights_lower_the_test_error_of_few_labels(ran: Ran) -> None:
    """They gain 0.105 of 0.309 with a standard deviation of 0.025, and leave 0.204 (0.011).

    By the fourth moment, as above, a gain below 0.01 or an error above 0.27 has a chance of less
    than 10**-6.
    """
    found = curves(ran("linear-training").table)
    at = found["LURE"].at(30)
    for name in ("PURE", "LURE"):
        assert found[f"naive - {name}"].mean[at] > 0.01
        assert found[name].mean[at] < 0.27


def test_overfitting_is_small_beside_active_learning_bias(ran: Ran) -> None:
    """A quarter of the active learning bias is 0.05, and 92% of trajectories overfit by less.

    Half of 200 would have to overfit by more: rarer than one run in 10**20 (Hoeffding).
    """
    found = curves(ran("linear-overfitting").table)
    at = found["ALB"].at(30)
    assert found["ALB"].mean[at] < -0.12
    for name in ("PURE", "LURE"):
        assert abs(found[name].median[at]) < 0.05


def test_the_levelled_estimator_varies_less_than_the_plain_one(ran: Ran) -> None:
    """By Theorems 1 and 3, whose difference is 20 standard errors from 0 even here."""
    found = curves(ran("linear-variance").table)["PURE - LURE given the draws"]
    assert (found.mean[found.labels <= 95] > 0).all()


def test_the_optimal_proposal_is_exact(ran: Ran) -> None:
    assert claim(ran("linear-proposals"), "optimal-is-exact").verdict == "holds"


def test_the_lure_line_is_nearer_to_the_ideal_one(ran: Ran) -> None:
    """It is so in at least 99 of 100 trajectories; the bar is 65 (Hoeffding: 1e-20)."""
    assert claim(ran("linear-illustration"), "nearer-to-ideal").verdict == "holds"


def test_more_labels_do_not_help_the_naive_line(ran: Ran) -> None:
    """Its excess risk stays at 0.105 with a standard error of at most 0.005; LURE's is 0.004."""
    found = curves(ran("linear-consistency").table)
    assert found["naive excess"].mean[-1] > 0.05 > 2 * found["LURE excess"].mean[-1]


def test_a_deleted_part_is_run_again_and_nothing_else(tmp_path: Path) -> None:
    study, settings = without_figures("linear-proposals")
    before = run(study, settings, tmp_path)
    assert run(study, settings, tmp_path).already_done
    (tmp_path / "parts" / "0.5.parquet").unlink()
    ran_again: list[str] = []
    after = run(counting(study, ran_again), settings, tmp_path)
    assert ran_again == ["0.5"]
    assert not after.already_done
    assert after.table == before.table
    assert after.claims == before.claims


def test_a_study_killed_in_between_goes_on_where_it_stopped(tmp_path: Path) -> None:
    study, settings = without_figures("linear-proposals")

    def dies(settings: Any, task: str, rng: Generator) -> pa.Table:  # noqa: ANN401
        if task == "0.9":
            raise KeyboardInterrupt
        return part(study, settings, task, rng)

    with pytest.raises(KeyboardInterrupt):
        run(replace(study, run=dies), settings, tmp_path / "killed")
    assert not (tmp_path / "killed" / "claims.json").exists()
    ran_again: list[str] = []
    after = run(counting(study, ran_again), settings, tmp_path / "killed")
    assert ran_again == ["0.9", "1", "geometric"]
    assert after.table == run(study, settings, tmp_path / "whole").table


def without_figures(name: str) -> tuple[Study, StudySettings]:
    """They take longer than the rest at this size."""
    (study,) = find(name)
    return replace(study, figures=lambda table, settings: {}), study.presets["smoke"]


def part(study: Study, settings: StudySettings, task: str, rng: Generator) -> pa.Table:
    assert not isinstance(study.run, Resumable)
    return study.run(settings, task, rng)


def counting(study: Study, ran: list[str]) -> Study:
    def counted(settings: Any, task: str, rng: Generator) -> pa.Table:  # noqa: ANN401
        ran.append(task)
        return part(study, settings, task, rng)

    return replace(study, run=counted)


def test_two_workers_find_what_one_finds(ran: Ran, tmp_path: Path) -> None:
    study, settings = without_figures("linear-proposals")
    alone = ran("linear-proposals")
    together = run(study, settings, tmp_path, backend=local(2))
    assert together.table == alone.table
    assert together.claims == alone.claims


def test_too_few_trajectories_are_refused() -> None:
    (study,) = find("linear-bias")
    with pytest.raises(InputError, match=r"trajectories.*at least 10"):
        replace(study.presets["smoke"], trajectories=1)  # type: ignore[call-arg]


def test_budgets_are_told_as_ranges() -> None:
    labels = np.array([10, 11, 12, 13])
    assert at_budgets(labels, labels > 0) == "M = 10 to 13"
    assert at_budgets(labels, labels != 12) == "M = 10 to 11, 13"
    assert at_budgets(labels, labels > 20) == "no M"
