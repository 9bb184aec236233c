"""Campaigns in memory on labels that are known: the same draws, figures and exact variances."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from campaigns.simulated import label, spam
from levelled.campaigns import create_campaign
from levelled.campaigns.drawing import learner
from levelled.campaigns.figures.figures import read_once
from levelled.campaigns.figures.settled import settled_draws
from levelled.metrics.named import parse_metric
from levelled.samplers import RunProposal
from levelled.simulation import KnownCampaign
from levelled.sources import open_pool
from levelled.surrogates import driver


@pytest.mark.parametrize("kind", ["adaptive", "static", "uniform"])
def test_a_campaign_in_memory_is_that_of_a_store(tmp_path: Path, kind: str) -> None:
    table, truth = spam(200, seed=4)
    metrics = ["error", "f1:spam"]
    stored = create_campaign(
        "spam", table, metrics, kind=kind, budget=60, storage=tmp_path / "c.db", seed=5
    )
    for _ in range(60):
        label(stored, 1, truth)
    labels = [truth[one] for one in table["id"].to_pylist()]
    campaign = KnownCampaign.of(open_pool(table, features=None), labels, metrics, kind=kind)
    base, other = campaign.run(60, 5), settled_draws(stored.state, 60)
    np.testing.assert_array_equal(base.rows, other.rows)
    np.testing.assert_allclose(base.draws.probability, other.draws.probability, rtol=1e-12)
    (*_, look) = stored.state.settings.looks
    for metric, figure in zip(campaign.settings.metrics, stored.estimate(), strict=True):
        est = read_once(base, campaign.subject(metric), look.level, "auto")
        assert est.value == pytest.approx(figure.estimate.value, abs=1e-12)


def tiny() -> tuple[pa.Table, list[str]]:
    """Five items of two models, with a slice and a feature."""
    p, p2 = np.array([0.9, 0.3, 0.7, 0.2, 0.6]), np.array([0.8, 0.6, 0.1, 0.3, 0.7])
    columns: dict[str, Any] = {"id": np.arange(5), "f_1": np.array([0.1, 1.0, -1.0, 0.5, 0.2])}
    for name, own in (("a", p), ("b", p2)):
        columns |= {f"proba@{name}_no": 1 - own, f"proba@{name}_yes": own}
    columns["part"] = ["in", "out", "in", "in", "out"]
    return pa.table(columns), ["yes", "yes", "no", "no", "yes"]


SUBJECTS: dict[str, tuple[str, dict[str, str]]] = {
    "error": ("error", {}),
    "second model": ("error", {"model": "b"}),
    "slice": ("error", {"column": "part", "value": "in"}),
    "f1": ("f1:yes", {}),
    "recall of the second model": ("recall:yes", {"model": "b"}),
    "precision": ("precision:yes", {}),
    "difference": ("error", {"model": "b", "against": "a"}),
}


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("kind", ["adaptive", "static", "uniform"])
def test_linear_errors_are_unbiased_and_their_variance_is_exact(
    monkeypatch: pytest.MonkeyPatch, kind: str, known: int
) -> None:
    """Over all paths of three draws, with a predictor that is fitted after each label."""
    for module, name in ((driver, "_FIRST_FIT"), (driver, "_LEAST_ROUND"), (learner, "_FIRST_FIT")):
        monkeypatch.setattr(module, name, 1)
    table, labels = tiny()
    campaign = KnownCampaign.of(
        open_pool(table, features=None, slices=["part"]),
        labels,
        ["error", "f1:yes"],
        kind=kind,
        slices=["part"],
        known=range(4, 4 + known),
    )
    path: list[int] = []

    def follow(self: RunProposal, n: int, **_: object) -> Any:  # noqa: ANN401
        taken = 0 if n > 1 else 5 - known - len(self.weights)
        return self.fixed(np.array(path[taken : taken + n]))

    monkeypatch.setattr(RunProposal, "draw", follow)
    sums = {name: np.zeros(4) for name in SUBJECTS}
    for path in map(list, permutations(range(5 - known), 3)):
        base = campaign.run(3, 0)
        chance = float(base.draws.probability.prod())
        assert base.rows.tolist() == path
        for name, (metric, part) in SUBJECTS.items():
            subject = campaign.subject(parse_metric(metric), **part)
            error = campaign.linear_error(base, subject)
            variances = campaign.term_variances(base, subject)
            exact = campaign.exact_variance(base, variances)
            sums[name] += chance * np.array([1.0, error, error**2, exact])
    for total, mean, square, exact in sums.values():
        assert total == pytest.approx(1, abs=1e-12)
        assert mean == pytest.approx(0, abs=1e-10)
        assert exact == pytest.approx(square, abs=1e-10)
        assert exact > 1e-6


def test_an_average_has_the_error_that_is_linear() -> None:
    table, labels = tiny()
    campaign = KnownCampaign.of(open_pool(table, features=None), labels, kind="adaptive")
    base, subject = campaign.run(4, 1), campaign.subject()
    error = read_once(base, subject, 0.95, "auto").value
    assert error is not None
    truth = campaign.truth(subject)
    linear = campaign.linear_error(base, subject)
    assert error - truth.value == pytest.approx(linear, abs=1e-12)
