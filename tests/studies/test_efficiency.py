"""The benchmark `label-efficiency`: its tasks, its peers, its claims, and the smallest size."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from levelled.simulation import KnownLosses, known_losses, repeat_methods
from levelled_studies import find
from levelled_studies.efficiency.peers import REIMPLEMENTED, methods_for
from levelled_studies.efficiency.pools import SYNTHETIC, load_task, variance_limit
from levelled_studies.efficiency.report import SIX, claims
from levelled_studies.runner import run

(STUDY,) = find("label-efficiency")


@pytest.fixture(scope="module")
def sharp() -> KnownLosses:
    return load_task("sharp")[0]


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_synthetic_pool_has_losses_and_a_limit(name: str) -> None:
    known, limit = load_task(name)
    assert known.is_share
    assert 0 < known.risk < 0.2
    assert limit is not None
    assert limit >= 0.999


def test_nothing_beats_random_labels_where_all_items_are_alike() -> None:
    assert variance_limit(np.full(100, 0.3)) == pytest.approx(1)
    assert variance_limit(np.array([0.0, 1.0])) > 1000


def test_strata_that_know_the_errors_save_labels_without_bias(sharp: KnownLosses) -> None:
    (row,) = repeat_methods(sharp, {"oasis": REIMPLEMENTED["oasis"]}, [200], 30, seed=0)
    assert row["label_factor"] > 2
    assert abs(row["bias_z"]) < 6  # normal errors pass this less than once in 10**8


def test_the_mean_of_a_surrogate_has_no_interval(sharp: KnownLosses) -> None:
    method = {"surrogate-mean": REIMPLEMENTED["surrogate-mean"]}
    (row,) = repeat_methods(sharp, method, [100], 3, seed=0)
    assert row["label_factor"] is row["width_factor"] is row["coverage"] is None
    assert row["label_factor_mse"] > 0


def test_peers_that_need_expected_losses_are_left_out_where_there_are_none() -> None:
    known, _ = load_task("sharp")
    assert {"oasis", "active-testing"} <= {*methods_for(known)}
    bare = replace(known, expected_values=None)
    assert [*methods_for(bare)] == ["uniform", "static", "adaptive", "with-replacement"]


@pytest.fixture(scope="module")
def recall() -> KnownLosses:
    known, limit = load_task("digits recall")
    assert limit is None
    assert known.metric == "recall:1"
    return known


def test_a_task_may_be_a_ratio_of_class_1(recall: KnownLosses) -> None:
    assert recall.of_class is not None
    assert [*methods_for(recall)][-1] == "oasis"
    assert "surrogate-mean" not in methods_for(recall)


def test_strata_by_the_chance_of_a_class_save_labels_for_its_recall() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.1, 1.0, 2000)
    y = np.where(rng.random(2000) < p, "yes", "no")
    table = pa.table({"id": range(2000), "proba_no": 1 - p, "proba_yes": p, "y": y.tolist()})
    known = known_losses(table, "y", "recall:yes")
    (row,) = repeat_methods(known, {"oasis": REIMPLEMENTED["oasis"]}, [200], 20, seed=0)
    assert row["label_factor"] > 1.5
    assert abs(row["bias_z"]) < 6  # normal errors pass this less than once in 10**8


def row(method: str, **changes: object) -> dict[str, Any]:
    values: dict[str, Any] = {"task": "mnist-strong", "metric": "error", "risk": 0.05, "limit": 4.0}
    values |= {"method": method, "budget": 500, "label_factor": 3.8, "label_factor_se": 0.01}
    values |= {"label_factor_mse": 3.8, "label_factor_mse_se": 0.3, "width_factor": 3.0}
    return values | {"bias_z": 0.5, "coverage": 0.96, "repetitions": 100} | changes


def verdicts(rows: list[dict[str, Any]]) -> dict[str, str]:
    made = claims(pa.Table.from_pylist(rows), STUDY.presets["cpu"])
    return {claim.name: claim.verdict for claim in made}


GOOD = [row("adaptive", task=task) for task in SIX]
GOOD += [row("adaptive", task=task, budget=100) for task in SIX]
GOOD += [row(peer, label_factor=1.5) for peer in ("static", "ppi", "active-testing")]
GOOD += [row("with-replacement", label_factor=1.5)]


def test_every_claim_about_our_method_can_hold() -> None:
    found = verdicts(GOOD)
    assert {*found.values()} == {"holds", "holds partly"}
    assert found["packages of others"] == "holds partly"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("six pools, 500 labels", {"label_factor": 2.0}),
        ("six pools, 100 labels", {"label_factor": 1.8}),
        ("share of the limit", {"limit": 4.9}),
        ("worst label factor", {"label_factor": 0.7}),
        ("worst width factor", {"width_factor": 0.7}),
        ("against static", {"label_factor": 1.4}),
        ("width shown", {"width_factor": 1.7}),
        ("unbiased", {"bias_z": -4.5}),
        ("coverage of all planned looks", {"coverage": 0.8}),
    ],
)
def test_a_claim_does_not_hold_where_its_bar_is_missed(name: str, changes: dict[str, Any]) -> None:
    worse = [one | changes if one["method"] == "adaptive" else one for one in GOOD]
    assert verdicts(worse)[name] == "does not hold"


RATIOS = [
    row("adaptive", task=f"{pool} f1", metric="f1:1", limit=None, budget=budget)
    for pool in ("spam", "credit-card")
    for budget in (100, 500)
]
RATIOS += [row("oasis", task="spam f1", metric="f1:1", limit=None, label_factor=2.0)]


def test_ratios_have_claims_of_their_own() -> None:
    found = verdicts(GOOD + RATIOS)
    ratios = {name: verdict for name, verdict in found.items() if name.startswith("ratios")}
    assert len(ratios) == 4
    assert {*ratios.values()} == {"holds"}
    assert {name: found[name] for name in verdicts(GOOD)} == verdicts(GOOD)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ratios, spam", {"label_factor": 1.9}),
        ("ratios, against others", {"label_factor": 1.9}),
        ("ratios, coverage of all planned looks", {"coverage": 0.8}),
        ("ratios, unbiased", {"bias_z": 4.5}),
    ],
)
def test_a_claim_on_ratios_does_not_hold_where_its_bar_is_missed(
    name: str, changes: dict[str, Any]
) -> None:
    worse = [one | changes if one["method"] == "adaptive" else one for one in RATIOS]
    assert verdicts(GOOD + worse)[name] == "does not hold"


def test_few_repetitions_cannot_tell_the_coverage_of_a_ratio() -> None:
    low = [one | {"coverage": 0.9} for one in RATIOS]
    assert verdicts(GOOD + low)["ratios, coverage of all planned looks"] == "cannot tell"


def test_few_repetitions_cannot_tell_a_coverage_that_is_a_little_low() -> None:
    low = [one | {"coverage": 0.9, "repetitions": 40} for one in GOOD]
    low += [one | {"coverage": 0.99, "repetitions": 40} for one in GOOD * 5]
    assert verdicts(low)["coverage of all planned looks"] == "cannot tell"
    many = [one | {"repetitions": 400} for one in low]
    assert verdicts(many)["coverage of all planned looks"] == "holds"


def test_the_smallest_size_runs_and_is_drawn(tmp_path: Path) -> None:
    smoke: Any = STUDY.presets["smoke"]
    results = run(STUDY, replace(smoke, pools=("useless",), budgets=(20,), repetitions=2), tmp_path)
    assert {"uniform", "static", "adaptive", "oasis"} <= {*results.table["method"].to_pylist()}
    names = {path.name for path in results.files}
    assert {"label-factors.png", "width-factors.png", "budgets.png", "claims.json"} <= names
