"""Methods of other papers: their variances exactly, their claims, and the page that shows them."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.estimators.lure import murthy_weights
from levelled.simulation import KnownLosses, known_losses, repeat_methods
from levelled_studies import find
from levelled_studies.efficiency.pools import load_task
from levelled_studies.neighbours import methods
from levelled_studies.neighbours.page import write
from levelled_studies.neighbours.study import claims
from levelled_studies.runner import run
from paths import expectation

(STUDY,) = find("neighbours")
WEIGHTS = np.array([0.3, 1.0, 0.05, 4.0, 0.7, 2.0])
LOSSES = np.array([3.0, -1.0, 0.5, 8.0, 2.0, 0.1])


@pytest.fixture(scope="module")
def small() -> KnownLosses:
    """Seven items, four of which are wrong."""
    table = pa.table(
        {
            "id": range(7),
            "pred": ["a"] * 7,
            "loss_hat": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
            "y": ["a", "b", "a", "b", "a", "b", "b"],
        }
    )
    return known_losses(table, "y")


def test_the_variance_of_poisson_sampling_is_that_of_all_subsets(small: KnownLosses) -> None:
    (reading,) = methods.poisson(small, [3], np.random.default_rng(0))
    chance = methods.inclusion_probabilities(small.static.weights, 3)
    assert chance.sum() == pytest.approx(3)
    mean = square = 0.0
    for asked in product([False, True], repeat=7):
        at = np.array(asked)
        of_subset = float(np.where(at, chance, 1 - chance).prod())
        value = float((small.losses[at] / chance[at]).sum() / 7)
        mean, square = mean + of_subset * value, square + of_subset * value**2
    assert mean == pytest.approx(small.risk, abs=1e-12)
    assert reading.variance == pytest.approx(square - mean**2, abs=1e-12)


def test_draws_with_replacement_reach_the_number_of_labels_on_average(small: KnownLosses) -> None:
    q = small.static.weights / small.static.weights.sum()
    for n in (1, 3, 6):
        n_draws = methods.draws_for_different(q, n)
        assert float((1 - (1 - q) ** n_draws).sum()) == pytest.approx(n)
    (reading,) = methods.free_repeats(small, [3], np.random.default_rng(0))
    values = small.losses / (7 * q)
    of_one, wanted = float(q @ values**2) - small.risk**2, methods.draws_for_different(q, 3)
    low = int(wanted)
    expected = of_one * ((low + 1 - wanted) / low + (wanted - low) / (low + 1))
    assert reading.variance == pytest.approx(expected)


@pytest.mark.parametrize("budget", [2, 3, 4])
def test_murthy_varies_less_than_lure_by_their_mean_squared_distance(budget: int) -> None:
    def frozen(drawn: tuple[int, ...], left: IntArray) -> FloatArray:
        return WEIGHTS[left] / WEIGHTS[left].sum()

    def squares(draws: Draws) -> FloatArray:
        drawn = LOSSES[draws.index]
        lure = float(np.mean(lure_weights(draws) * drawn))
        murthy = float(np.mean(murthy_weights(draws) * drawn))
        risk = LOSSES.mean()
        return np.array([(lure - risk) ** 2, (murthy - risk) ** 2, (lure - murthy) ** 2])

    lure, murthy, apart = expectation(squares, 6, budget, frozen)
    assert murthy == pytest.approx(lure - apart, abs=1e-9)
    assert apart > 1e-3


def test_neyman_s_allocation_uses_all_labels_and_no_stratum_twice_over() -> None:
    sizes, spread = np.array([3, 40, 500, 1]), np.array([0.5, 0.3, 0.1, 0.5])
    for n in (10, 100, 540):
        counts = methods.neyman_allocation(sizes, spread, n)
        assert counts.sum() == n
        assert (counts <= sizes).all()
        assert (counts >= np.minimum(sizes, 2)).all()
    assert sizes.tolist() == [3, 40, 500, 1]


def test_unbiased_neighbours_are_so_and_the_naive_mean_is_not() -> None:
    known, _ = load_task("sharp")
    ensemble = np.full((len(known), 2, 2), 0.5)
    every = methods.neighbours(known, np.array([[1.0, 0.0]] * len(known)), ensemble)
    chosen = {name: every[name] for name in ("R_PURE", "Murthy", "Poisson", "stratified", "naive")}
    for row in repeat_methods(known, chosen, [100], 30, seed=0):
        if row["method"] == "naive":
            assert row["bias_z"] > 10
        else:
            assert abs(row["bias_z"]) < 6  # normal errors pass this less than once in 10**8


def test_an_ensemble_decides_the_draws_of_active_testing() -> None:
    known, _ = load_task("useless")
    wrong = np.clip(known.losses, 0.02, 0.9)
    ensemble = np.stack([np.column_stack([1 - wrong, wrong])] * 3, axis=1)
    every = methods.neighbours(known, np.array([[1.0, 0.0]] * len(known)), ensemble)
    own, other = (
        repeat_methods(known, {name: every[name]}, [100], 3, seed=0)[0]["label_factor"]
        for name in ("Active Testing, own", methods.EXPECTED)
    )
    assert other > 5 > own


def row(method: str, factor: float, **changes: object) -> dict[str, Any]:
    values = {"task": "adult", "pool_size": 1000, "risk": 0.15, "surrogate_risk": 0.2}
    values |= {"method": method, "budget": 500, "label_factor": factor, "label_factor_se": 0.01}
    return values | {"by": "variance", "bias": 0.1, "bias_se": 0.01, "repetitions": 10} | changes


GOOD = {
    "uniform": 1.0,
    "naive": 0.1,
    "R_PURE": 1.9,
    "R_LURE": 2.0,
    "Murthy": 2.1,
    "with replacement": 1.5,
    "with replacement, repeats free": 1.6,
    "Poisson": 1.2,
    "importance weights": 1.5,
    "importance weights, normalised": 1.4,
    "Active Testing, own": 1.1,
    methods.EXPECTED: 1.7,
    methods.ROOT: 1.8,
}


def verdicts(rows: list[dict[str, Any]]) -> dict[str, str]:
    made = claims(pa.Table.from_pylist(rows), STUDY.presets["cpu"])  # type: ignore[arg-type]
    return {claim.name: claim.verdict for claim in made}


def test_every_claim_can_hold() -> None:
    assert {*verdicts([row(*each) for each in GOOD.items()]).values()} == {"holds"}


@pytest.mark.parametrize(
    ("changed", "factor", "name"),
    [
        ("naive", 2.5, "fifth-rule"),
        ("R_LURE", 0.9, "fifth-rule"),
        ("Murthy", 1.5, "orders"),
        ("with replacement, repeats free", 2.5, "without-replacement"),
        ("Poisson", 2.5, "fixed-number"),
        ("Active Testing, own", 1.75, "surrogate"),
        (methods.ROOT, 1.5, "root"),
    ],
)
def test_every_claim_can_fail(changed: str, factor: float, name: str) -> None:
    rows = [row(*each) for each in (GOOD | {changed: factor}).items()]
    assert verdicts(rows)[name] in ("does not hold", "holds partly")


def test_a_bias_within_its_standard_errors_is_not_shown() -> None:
    rows = [row(*each, bias=0.03) for each in GOOD.items()]
    assert verdicts(rows)["importance-weights"] == "cannot tell"


def test_the_page_shows_the_kept_results(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    kept = (docs / "paper/related.md").read_text()
    (tmp_path / "paper").mkdir()
    (tmp_path / "results").symlink_to(docs / "results")
    page = tmp_path / "paper/related.md"
    page.write_text(kept.replace("| random labels, plain mean |", "| typed in by hand |"))
    write(tmp_path)
    assert page.read_text() == kept, "write it anew: python -m levelled_studies.neighbours.page"


def test_the_smallest_size_runs_through(tmp_path: Path) -> None:
    results = run(STUDY, STUDY.presets["smoke"], tmp_path)
    rows = results.table.to_pylist()
    assert {each["by"] for each in rows if each["method"] in methods.BIASED} == {"squared errors"}
    naive = next(each for each in rows if each["method"] == "naive")
    assert naive["bias"] > 5 * naive["bias_se"]
    assert (tmp_path / "neighbours.png").exists()
