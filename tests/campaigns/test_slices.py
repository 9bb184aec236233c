"""Slices of a campaign: the predictor of the label helps all of their figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, create
from levelled.campaigns.settings import VERSIONS
from levelled.metrics.comparison import Figure

POOL, TRUTH = spam(300)
ADAPTIVE: dict[str, Any] = {"kind": "adaptive", "slices": ["country"], "budget": 60, "looks": 1}


def slices(campaign: Campaign, metric: str = "error") -> list[Figure]:
    return [one for one in campaign.estimate() if one.slice and one.metric == metric]


def test_averages_and_ratios_in_slices_use_the_predictor(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "a.db", POOL, ["error", "accuracy", "f1:spam"], **ADAPTIVE)
    for _ in range(6):
        label(campaign, 10, TRUTH)
    for metric in ("error", "accuracy", "f1:spam"):
        found = slices(campaign, metric)
        assert [one.estimate.estimator for one in found] == ["ramped"] * 3
    error, accuracy = slices(campaign)[0].estimate, slices(campaign, "accuracy")[0].estimate
    assert error.value == pytest.approx(1 - (accuracy.value or 0))
    assert (error.low, error.high) == pytest.approx((1 - accuracy.high, 1 - accuracy.low))
    assert campaign.audit() == []


def test_the_estimates_of_slices_add_up_to_that_of_the_pool(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "a.db", POOL, **ADAPTIVE)
    for _ in range(6):
        label(campaign, 10, TRUTH)
    whole, *parts = campaign.estimate()
    assert len(parts) == 3  # of 100 items each
    mean = np.mean([one.estimate.value for one in parts])
    assert mean == pytest.approx(whole.estimate.value)


def test_the_predictor_makes_the_intervals_of_slices_narrower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = {}
    for versions in (VERSIONS, replace(VERSIONS, predictor=1)):
        with monkeypatch.context() as patched:
            patched.setattr(create, "VERSIONS", versions)
            # More slices than the first predictor was kept for.
            table = POOL.append_column("number", pa.array([str(at % 40) for at in range(300)]))
            more = {**ADAPTIVE, "slices": ["country", "number"]}
            campaign = begun(tmp_path / f"{versions.predictor}.db", table, **more)
        for _ in range(6):
            label(campaign, 10, TRUTH)
        found = [one.estimate for one in slices(campaign)][:3]
        widths[found[0].estimator] = np.mean([est.high - est.low for est in found])
    assert widths["ramped"] < 0.8 * widths["lure"]


def test_ratings_of_slices_have_their_own_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([1.0] * 5, 120)
    columns = {f"proba_{k}": proba[:, k - 1] for k in range(1, 6)}
    table = pa.table({"id": range(120), "part": ["a", "b"] * 60, **columns})
    truth = {at: float(rng.choice(5, p=p) + 1) for at, p in enumerate(proba)}
    campaign = begun(tmp_path / "a.db", table, "mean:1:5", kind="adaptive", slices=["part"])
    for _ in range(4):
        label(campaign, 10, truth)
    a, b = slices(campaign, "mean:1:5")
    assert a.estimate.estimator == b.estimate.estimator == "ramped"
    assert 1 <= a.estimate.low < a.estimate.high <= 5
    whole = campaign.estimate()[0].estimate.value
    assert (a.estimate.value or 0) / 2 + (b.estimate.value or 0) / 2 == pytest.approx(whole)
    label(campaign, 80, truth)
    for part, figure in enumerate(slices(campaign, "mean:1:5")):
        labels = [truth[at] for at in range(120) if at % 2 == part]
        assert figure.estimate.value == pytest.approx(np.mean(labels), abs=1e-9)
        assert figure.estimate.interval == "point"


def test_an_unlabelable_item_keeps_the_predictor(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "a.db", POOL, **ADAPTIVE)
    label(campaign, 50, TRUTH)
    campaign.mark_unlabelable(campaign.ask(1)[0].draw, reason="empty")
    label(campaign, 9, TRUTH)
    found = [*slices(campaign), campaign.estimate()[0]]
    assert {one.estimate.estimator for one in found} == {"ramped"}
    assert campaign.audit() == []


def test_a_sample_that_had_labels_keeps_the_predictor(tmp_path: Path) -> None:
    chosen = np.random.default_rng(0).choice(len(TRUTH), 20, replace=False)
    (tmp_path / "sample.csv").write_text(
        "\n".join(["id,label", *(f"r{at},{TRUTH[f'r{at}']}" for at in chosen)])
    )
    more = {**ADAPTIVE, "labelled": tmp_path / "sample.csv"}
    campaign = begun(tmp_path / "a.db", POOL, **more)
    label(campaign, 40, TRUTH)
    assert {one.estimate.estimator for one in slices(campaign)} == {"ramped"}
    assert campaign.audit() == []
