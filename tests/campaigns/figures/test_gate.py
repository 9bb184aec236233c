"""Claims about a campaign: their words, when they come, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import levelled as lv
from campaigns.figures.test_comparing import POOL, TRUTH, compared
from campaigns.simulated import begun, label, numbers, spam
from levelled.campaigns import Campaign, GateClaim
from levelled.campaigns.figures.gate import _more_labels, _word
from levelled.campaigns.figures.settled import settled_draws
from levelled.errors import LevelledError
from levelled.estimators import Estimate
from levelled.reports.numbers import headline
from levelled_studies.betting_truth import hedged_rejected_at, rejected_at

N = 120


def gated(
    path: Path,
    n: int,
    metric: str | list[str] = "error",
    **more: Any,  # noqa: ANN401
) -> tuple[Campaign, dict[str, str]]:
    """A campaign with n labels, and all labels."""
    table, truth = spam(N)
    campaign = begun(path / "g.db", table, metric, **more)
    if n:
        label(campaign, n, truth)
    return campaign, truth


def an_estimate(value: float, low: float, high: float, stderr: float = 0.01) -> Estimate:
    return Estimate(value, low, high, 0.95, stderr, 100, 10_000, 100.0, 1.0, "lure", "betting")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.5, 0.7, ("not yet", "not yet", "not yet")),
        (0.6, 0.7, ("shown", "not yet", "not yet")),
        (0.61, 0.7, ("shown", "refuted", "shown")),
        (0.5, 0.6, ("not yet", "shown", "refuted")),
        (0.5, 0.59, ("refuted", "shown", "refuted")),
        (0.6, 0.6, ("shown", "shown", "refuted")),
    ],
)
def test_a_word_says_where_the_interval_lies(
    low: float, high: float, words: tuple[str, str, str]
) -> None:
    figure = an_estimate((low + high) / 2, low, high)
    for relation, word in zip(("at least", "at most", "better than"), words, strict=True):
        assert _word(figure, relation, 0.6, 1e-9) == word  # type: ignore[arg-type]


def test_a_campaign_without_labels_has_no_word_yet(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 0)
    claim = campaign.gate(at_most=0.05)
    assert (claim.word, claim.more_labels, claim.n_settled) == ("not yet", None, 0)
    assert "0 labels" in claim.sentence


@pytest.mark.parametrize("metric", ["error", "accuracy", "share:spam", "precision:spam"])
def test_once_everything_is_labelled_the_word_is_the_truth(tmp_path: Path, metric: str) -> None:
    campaign, _ = gated(tmp_path, N, metric)
    exact = campaign.estimate()[0].estimate.value
    assert exact is not None
    assert campaign.gate(at_least=exact).word == "shown"
    assert campaign.gate(at_most=exact).word == "shown"
    assert campaign.gate(at_least=exact + 1e-3).word == "refuted"
    assert campaign.gate(at_most=exact - 1e-3).word == "refuted"
    assert campaign.gate(at_least=exact).more_labels == 0


def first_word(campaign: Campaign, truth: dict[str, str], n: int, **claim: Any) -> int:  # noqa: ANN401
    """The number of labels at which a claim is first decided; 0 if it never is."""
    for m in range(1, n + 1):
        label(campaign, 1, truth)
        if campaign.gate(**claim).word != "not yet":
            return m
    return 0


def test_the_word_comes_when_the_limit_itself_is_rejected_by_betting(tmp_path: Path) -> None:
    campaign, truth = gated(tmp_path, 0, kind="uniform")
    when = first_word(campaign, truth, 60, at_most=0.613)
    draws = settled_draws(campaign.state).draws
    losses = settled_draws(campaign.state).losses(campaign.settings.metrics[0], "")[0]
    columns = {name: [values] for name, values in (draws.design or {}).items()}
    label(campaign, N - len(draws), truth)
    assert 0 < when == len(draws)
    expected = rejected_at(0.613, [losses], [draws.probability], N, design=columns)
    assert expected.tolist() == [when]


def test_an_adaptive_campaign_with_a_budget_hedges_the_claim(tmp_path: Path) -> None:
    campaign, truth = gated(tmp_path, 0, kind="adaptive", budget=60)
    when = first_word(campaign, truth, 60, at_most=0.513)
    assert campaign.gate(at_most=0.513).figure.interval == "hedged"
    assert campaign.estimate()[0].estimate.interval in ("looks", "betting")
    draws = settled_draws(campaign.state).draws
    losses = settled_draws(campaign.state).losses(campaign.settings.metrics[0], "")[0]
    columns = {name: [values] for name, values in (draws.design or {}).items()}
    q = [draws.probability]
    late = hedged_rejected_at(0.513, [losses], q, N, 60, 0.96, design=columns)
    early = rejected_at(0.513, [losses], q, N, level=0.99, design=columns)
    assert when == min(at for at in (*late.tolist(), *early.tolist()) if at)


def test_an_adaptive_campaign_without_a_budget_bets(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 20, kind="adaptive")
    assert campaign.gate(at_most=0.3).figure.interval == "betting"
    campaign.change(budget=60)
    assert campaign.gate(at_most=0.3).figure.interval == "betting"


def test_a_word_stays_until_a_label_is_amended(tmp_path: Path) -> None:
    campaign, truth = gated(tmp_path, 0, kind="uniform")
    words = []
    for _ in range(60):
        label(campaign, 1, truth)
        words.append(campaign.gate(at_most=0.6).word)
    assert words == ["not yet"] * words.index("shown") + ["shown"] * words.count("shown")
    pred = {key: "spam" if chance > 0.5 else "ham" for key, chance in _chances().items()}
    for draw, answer in campaign.state.answers.items():
        item = str(campaign.state.draws[draw - 1].id)
        wrong = "ham" if pred[item] == "spam" else "spam"
        if answer.label != wrong:
            campaign.amend(draw, wrong)
    assert campaign.gate(at_most=0.6).word == "refuted"


def _chances() -> dict[str, float]:
    table, _ = spam(N)
    return dict(zip(table["id"].to_pylist(), table["proba_spam"].to_pylist(), strict=True))


def test_claims_neither_change_figures_nor_anything_stored(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 40, ["error", "f1:spam"], budget=80, kind="adaptive")
    before, stored = campaign.estimate(), (tmp_path / "g.db").read_bytes()
    again = lv.load_campaign("spam", storage=tmp_path / "g.db", pool=campaign.pool().table)
    for level in (0.8, 0.95, 0.99):
        for one in (campaign, again):
            one.gate(at_least=0.1, level=level)
            one.gate("f1:spam", at_most=0.8, level=level)
    assert [one.as_dict() for one in campaign.estimate()] == [one.as_dict() for one in before]
    assert [one.as_dict() for one in again.estimate()] == [one.as_dict() for one in before]
    assert (tmp_path / "g.db").read_bytes() == stored


def test_a_higher_level_has_a_wider_interval_whatever_was_asked_before(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 60)
    loose, strict = (campaign.gate(at_most=0.3, level=level).figure for level in (0.8, 0.99))
    assert strict.low < loose.low < loose.high < strict.high
    assert campaign.gate(at_most=0.3, level=0.8).figure == loose


def test_accuracy_is_the_mirror_of_the_error(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 60, ["error", "accuracy"])
    error, accuracy = campaign.gate("error", at_most=0.2), campaign.gate("accuracy", at_least=0.8)
    assert accuracy.word == error.word
    assert accuracy.figure.low == pytest.approx(1 - error.figure.high)


def test_unlabelable_items_leave_a_claim_about_the_others(tmp_path: Path) -> None:
    campaign, truth = gated(tmp_path, 30)
    (one,) = campaign.ask(1)
    campaign.mark_unlabelable(one.draw, reason="blank")
    label(campaign, 40, truth)
    figure = campaign.gate(at_most=0.613).figure
    assert figure.interval == "betting"
    assert figure.low < 0.613
    assert campaign.gate(at_most=0.95).word == "shown"


def test_numbers_with_bounds_can_be_claimed_and_others_not(tmp_path: Path) -> None:
    table, truth = numbers(N)
    campaign = begun(tmp_path / "n.db", table, ["mean:-5:20", "mse", "mean"])
    label(campaign, N, truth)
    exact = float(np.mean(list(truth.values())))
    assert campaign.gate("mean:-5:20", at_least=exact - 0.01).word == "shown"
    with pytest.raises(LevelledError, match="mean:LOW:HIGH"):
        campaign.gate("mean", at_least=1)
    with pytest.raises(LevelledError, match=r"mse.*bounds"):
        campaign.gate("mse", at_most=1)


@pytest.mark.parametrize("metric", ["error", "accuracy", "f1:spam"])
def test_a_model_is_better_than_another(tmp_path: Path, metric: str) -> None:
    campaign = compared(tmp_path, 60, metric)
    (comparison,) = campaign.compare("v2")
    gain = abs(comparison.difference.value or 0.0)
    assert comparison.better == "v2"
    claim = campaign.gate(better_than="first")
    assert (claim.word, claim.model, claim.against) == ("shown", "v2", "first")
    assert claim.figure.value == pytest.approx(gain)
    assert campaign.gate(better_than="v2").word == "refuted"
    assert campaign.gate(better_than="first", margin=gain).word == "refuted"
    assert campaign.gate(better_than="first", margin=gain - 0.01).word == "shown"
    assert campaign.gate(better_than="v2", margin=-gain - 0.01).word == "shown"


def test_a_model_becomes_better_while_labels_come_in(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 0)
    words = []
    for _ in range(50):
        label(campaign, 1, TRUTH)
        words.append(campaign.gate(better_than="first", margin=-0.5).word)
    assert words[0] == "not yet"
    assert words[-1] == "shown"
    assert words == sorted(words)  # "not yet" before "shown"
    assert campaign.gate(better_than="first", margin=-0.5).figure.interval == "betting"


def test_the_model_to_be_better_is_named_where_there_are_several(tmp_path: Path) -> None:
    campaign = compared(tmp_path, 30)
    third = pa.table({"id": POOL["id"], "pred": ["ham"] * len(POOL)})
    campaign.attach(third, "v3")
    with pytest.raises(LevelledError, match=r"Name the model .* v2, v3"):
        campaign.gate(better_than="first")
    assert campaign.gate(better_than="first", model="v3").model == "v3"
    assert campaign.gate(at_most=0.9, model="v3").model == "v3"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({}, "at_least"),
        ({"at_least": 0.5, "at_most": 0.6}, "at_least"),
        ({"at_least": 0.5, "better_than": "first"}, "at_least"),
        ({"at_least": 92}, "did you mean 0.92"),
        ({"at_least": float("nan")}, "lies between 0 and 1"),
        ({"at_most": -0.1}, "lies between 0 and 1"),
        ({"at_most": "much"}, "must be a number"),
        ({"metric": "brier", "at_most": 0.1}, "'brier'"),
        ({"at_most": 0.1, "level": 1.0}, "level"),
        ({"at_most": 0.1, "model": "v9"}, "has no model 'v9'"),
        ({"better_than": "v9"}, "has no model 'v9'"),
        ({"better_than": "first"}, "only model"),
        ({"better_than": "first", "model": "first"}, "itself"),
        ({"metric": "share:spam", "better_than": "first"}, "labels alone"),
        ({"metric": "share:spam", "at_least": 0.1, "model": "first"}, "model out"),
    ],
)
def test_claims_that_cannot_be_decided_are_refused(
    tmp_path: Path, claim: dict[str, Any], why: str
) -> None:
    campaign, _ = gated(tmp_path, 3, ["error", "share:spam"])
    with pytest.raises(LevelledError, match=why):
        campaign.gate(**claim)


def test_the_labels_it_takes_follow_from_reach_and_distance() -> None:
    far, near = an_estimate(0.95, 0.89, 0.98), an_estimate(0.925, 0.85, 0.97)
    assert _more_labels(far, 0.92, 100, 10_000) == 289  # 4 times as many
    assert _more_labels(an_estimate(0.90, 0.85, 0.92), 0.92, 100, 10_000) == 1
    assert _more_labels(near, 0.92, 100, 10_000) is None  # the value may be on the other side
    assert _more_labels(far, 0.92, 10, 10_000) is None  # too few labels
    hedged = replace(far, interval="hedged")
    assert _more_labels(hedged, 0.92, 100, 250) == 150  # at the budget
    assert _more_labels(hedged, 0.92, 100, 900) == 289
    assert _more_labels(replace(hedged, stderr=0.025), 0.92, 100, 250) == 258  # beyond it


def test_a_claim_tells_itself_in_one_line_and_in_plain_values(tmp_path: Path) -> None:
    campaign, _ = gated(tmp_path, 60, budget=70)
    open_ = campaign.gate(at_most=0.2)
    assert str(open_).startswith("not yet: error")
    assert "at most 0.2;" in str(open_)
    assert "campaign has 10" in str(open_) or "cannot say" in str(open_)
    assert list(open_.as_dict()) == [
        *("claim", "word", "metric", "model", "relation", "limit", "against"),
        *("value", "low", "high", "level", "interval", "n_settled", "n_pending"),
        *("more_labels", "labels_left", "sentence", "warnings"),
    ]
    refuted = campaign.gate(at_least=0.9)
    assert refuted.sentence.startswith("refuted: error is below 0.9; ")
    assert isinstance(refuted, GateClaim)
    campaign.close()
    assert campaign.gate(at_least=0.9) == refuted


def test_changes_come_until_the_end(tmp_path: Path) -> None:
    campaign, truth = gated(tmp_path, 0)
    seen = []
    for state in campaign.changes(every=0.05):
        seen.append(len(state.answers))
        if len(seen) < 3:
            label(campaign, 1, truth)
        else:
            campaign.close()
            break
    assert seen == [0, 1, 2]
    assert len(list(campaign.changes(every=0.05))) == 1
    campaign.reopen()
    assert len(list(campaign.changes(every=0.05, timeout=0.2))) == 1


@pytest.fixture(scope="module")
def contradicted(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign whose first labels were all wrong, and the later ones all right."""
    table = pa.table({"id": [f"r{at}" for at in range(1000)], "pred": ["ham", "spam"] * 500})
    path = tmp_path_factory.mktemp("contradicted") / "c.db"
    campaign = begun(path, table, budget=300, kind="uniform")
    for at in range(2):
        names = {f"r{row}": ("ham", "spam")[(row + at + 1) % 2] for row in range(1000)}
        label(campaign, 150, names)
    return campaign


def test_labels_that_contradict_their_draws_give_no_figure(contradicted: Campaign) -> None:
    (figure,) = contradicted.estimate()
    assert figure.estimate.value is None
    assert figure.estimate.interval == "contradiction"
    assert "random sample" in figure.estimate.warnings[0]
    assert "contradict" in headline(figure)


@pytest.mark.parametrize("claim", [{"at_least": 0.1}, {"at_most": 0.9}, {"at_most": 0.01}])
def test_a_claim_about_contradictory_labels_is_neither_shown_nor_refuted(
    contradicted: Campaign, claim: dict[str, Any]
) -> None:
    said = contradicted.gate("error", **claim)
    assert said.word == "contradiction"
    assert str(said).startswith("contradiction: ")
    assert said.more_labels == 0
