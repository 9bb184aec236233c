"""How far labellers agree, and the pace of each, from the times of their labels."""

import math
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.simulated import begun, numbers, spam
from levelled.campaigns.log.records import Answer, Lease
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.labellers import Pace, cohen_kappa, paces_of
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import InputError

POOL, TRUTH = spam(60)
LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2)


@given(pairs=LABELS)
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = zip(*pairs, strict=True)
    kappa, se = cohen_kappa(first, second)
    if len({*first, *second}) == 1:  # undefined; scikit-learn warns
        assert math.isnan(kappa)
        assert math.isnan(se)
        return
    assert kappa == pytest.approx(metrics.cohen_kappa_score(first, second), abs=1e-12)


def test_the_standard_error_is_that_of_the_published_example() -> None:
    """Fleiss, Levin and Paik (2003), Statistical Methods, table 18.1: 100 pairs of diagnoses."""
    counts = {
        ("psychotic", "psychotic"): 75,
        ("psychotic", "neurotic"): 1,
        ("psychotic", "organic"): 4,
        ("neurotic", "psychotic"): 5,
        ("neurotic", "neurotic"): 4,
        ("neurotic", "organic"): 1,
        ("organic", "organic"): 10,
    }
    pairs = [pair for pair, n in counts.items() for _ in range(n)]
    kappa, se = cohen_kappa([a for a, _ in pairs], [b for _, b in pairs])
    assert kappa == pytest.approx(0.6765, abs=1e-4)
    assert se == pytest.approx(0.0877, abs=1e-4)


@given(pairs=LABELS)
def test_the_standard_error_is_that_of_the_delta_method(pairs: list[tuple[str, str]]) -> None:
    """The gradient of kappa by the shares of the table, taken numerically."""
    first, second = zip(*pairs, strict=True)
    kappa, se = cohen_kappa(first, second)
    if math.isnan(kappa):
        return
    n, p = len(pairs), np.zeros((3, 3))
    for a, b in pairs:
        p["abc".index(a), "abc".index(b)] += 1 / n

    def of(p: np.ndarray) -> float:
        p = p / p.sum()
        chance = float(p.sum(axis=1) @ p.sum(axis=0))
        return (float(np.trace(p)) - chance) / (1 - chance)

    step = 1e-6
    gradient = np.zeros((3, 3))
    for at in np.ndindex(3, 3):
        more, less = p.copy(), p.copy()
        more[at] += step
        less[at] -= step
        gradient[at] = (of(more) - of(less)) / (2 * step)
    variance = (np.sum(p * gradient**2) - np.sum(p * gradient) ** 2) / n
    assert se == pytest.approx(math.sqrt(max(variance, 0.0)), abs=1e-5, rel=1e-4)


def test_labels_that_do_not_pair_are_refused() -> None:
    nothing: list[str] = []
    for first, second in (nothing, nothing), (["a"], nothing):
        with pytest.raises(InputError, match="as many labels"):
            cohen_kappa(first, second)


def test_agreement_counts_what_each_labeller_said(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    assert campaign.agreement() is None
    campaign.ask(6, owner="ann")
    ann = dict(enumerate(["ham", "ham", "ham", "spam", "spam", "ham"], start=1))
    bob = dict(enumerate(["ham", "ham", "spam", "spam", "spam", "spam"], start=1))
    for owner, labels in {"ann": ann, "bob": bob}.items():
        answers = [{"draw": d, "label": one} for d, one in labels.items()]
        campaign.tell_all(answers, owner="boss", on_behalf_of=owner)
    campaign.amend(3, "spam", owner="boss", on_behalf_of="boss")  # a verdict, not a change of mind
    found = campaign.agreement()
    assert found is not None
    kappa, se = cohen_kappa([*ann.values()], [*bob.values()])
    assert found.n_items == 6
    assert found.share == pytest.approx(4 / 6)
    assert found.kappa == pytest.approx(kappa)
    assert found.low == pytest.approx(max(kappa - 1.959964 * se, -1), abs=1e-5)
    assert found.high == pytest.approx(min(kappa + 1.959964 * se, 1), abs=1e-5)
    campaign.amend(6, "spam", owner="ann")  # a change of mind
    found = campaign.agreement()
    assert found is not None
    assert found.share == pytest.approx(5 / 6)
    campaign.report(tmp_path / "report.html")
    assert "Cohen's kappa" in unescape((tmp_path / "report.html").read_text())


def test_labellers_without_a_name_are_not_compared(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(2)
    campaign.tell(1, "ham")
    campaign.tell(1, "spam", owner="boss", on_behalf_of="bob")
    assert campaign.agreement() is None


def test_numbers_have_a_share_and_no_kappa(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", numbers(20)[0], "mse")
    campaign.ask(2, owner="ann")
    for owner, labels in {"ann": (1.0, 2.0), "bob": (1.0, 2.5)}.items():
        for draw, label in enumerate(labels, start=1):
            campaign.tell(draw, label, owner="boss", on_behalf_of=owner)
    found = campaign.agreement()
    assert found is not None
    assert (found.share, found.kappa) == (0.5, None)
    assert "50.0% of 2 items" in str(found)


SETTINGS = CampaignSettings("x", ("error",), None, "", 10, seed=1)


def at(minute: int, second: int = 0) -> str:
    return f"2026-11-16T12:{minute:02}:{second:02}+00:00"


def test_pauses_do_not_count() -> None:
    times = [at(0, 0), at(0, 10), at(0, 40), at(50, 0), at(50, 20)]
    answers = {n + 1: Answer("a", "ann", when, n) for n, when in enumerate(times)}
    leases = {6: Lease("bob", at(1), at(2)), 7: Lease("bob", at(1), at(2))}
    state = CampaignState(SETTINGS, answers=answers, leases=leases, n_asked=7, n_settled=5)
    assert paces_of(state) == [
        Pace("ann", 5, 0, at(0, 0), at(50, 20), 20.0),
        Pace("bob", 0, 2, None, None, None),
    ]


def test_second_opinions_are_work_too() -> None:
    state = CampaignState(SETTINGS, answers={1: Answer("a", None, at(0), 0)}, n_asked=1)
    both = replace(state, opinions={1: (Answer("b", "bob", at(1), 1),)})
    assert [(one.name, one.n_labels, one.seconds) for one in paces_of(both)] == [
        (None, 1, None),
        ("bob", 1, None),
    ]
