from datetime import datetime, timedelta
from typing import Any

import pytest

from campaigns.simulated import START, amend_one, beginning, numbers, spam, tell_one
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import Resolved, Skipped, apply_events
from levelled.campaigns.log.state import CampaignState, find_draw
from levelled.errors import CampaignError, InputError, LevelledError, LossError

POOL, TRUTH = spam(30)
LEASE = 60


def started(**settings: object) -> CampaignState:
    return apply_events(beginning(POOL, 30, **{"lease_seconds": LEASE, **settings}))


def after(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def ask_items(
    state: CampaignState, n: int, owner: str | None = "ann", at: int = 0
) -> tuple[CampaignState, list[int]]:
    handout = decide.ask(state, n, owner, after(at))
    draws = [one.draw for one in handout.asks]
    return (apply_events(handout.events, state) if handout.events else state), draws


def tell_label(
    state: CampaignState, draw: int, label: object, owner: str | None = "ann", at: int = 1
) -> CampaignState:
    events = tell_one(state, find_draw(state, draw=draw), label, owner, after(at))
    return apply_events(events, state) if events else state


def skip_item(state: CampaignState, draw: int, owner: str | None, at: int = 1) -> CampaignState:
    events = [decide.make_event(Skipped, state, owner, after(at), draw=draw, reason="unsure")]
    return apply_events(events, state)


def test_items_are_given_out_in_the_order_of_the_draws() -> None:
    state, first = ask_items(started(), 3)
    _, second = ask_items(state, 2, "bob")
    assert (first, second) == ([1, 2, 3], [4, 5])


def test_what_a_labeller_gets_is_the_item_and_not_the_prediction() -> None:
    (one,) = decide.ask(started(slices=("country",)), 1, "ann", START).asks
    assert set(one.data) <= {"text", "country"}
    assert one.lease_until == after(LEASE).isoformat(timespec="seconds")


def test_an_expired_lease_is_offered_again_before_anything_new() -> None:
    state, _ = ask_items(started(), 2)
    assert ask_items(state, 1, "bob", at=LEASE - 1)[1] == [3]
    assert ask_items(state, 3, "bob", at=LEASE)[1] == [1, 2, 3]


def test_a_late_answer_counts_if_nobody_else_has_answered() -> None:
    state, _ = ask_items(started(), 1)
    state, again = ask_items(state, 1, "bob", at=LEASE)
    assert again == [1]
    state = tell_label(state, 1, "spam", "ann", at=2 * LEASE)
    assert (state.answers[1].label, state.answers[1].by) == ("spam", "ann")
    assert not state.leases


def test_a_late_answer_is_a_second_opinion_if_somebody_has_answered() -> None:
    state, _ = ask_items(started(), 1)
    state, _ = ask_items(state, 1, "bob", at=LEASE)
    state = tell_label(state, 1, "ham", "bob", at=LEASE + 1)
    state = tell_label(state, 1, "spam", "ann", at=LEASE + 2)
    assert state.answers[1].label == "ham"
    assert [(one.label, one.by) for one in state.opinions[1]] == [("spam", "ann")]


def test_telling_the_same_thing_again_changes_nothing() -> None:
    state = tell_label(ask_items(started(), 1)[0], 1, "ham")
    assert tell_one(state, state.draws[0], "ham", "ann", after(5)) == ()
    assert tell_one(state, state.draws[0], "ham", None, after(5)) == ()
    state = tell_label(state, 1, "spam", "bob")
    assert tell_one(state, state.draws[0], "spam", "bob", after(5)) == ()
    assert tell_one(state, state.draws[0], "spam", None, after(5)) == ()


def test_an_answer_to_what_cannot_be_labelled_is_a_second_opinion_told_once() -> None:
    state, _ = ask_items(started(), 1)
    state = apply_events(
        [decide.make_event(Resolved, state, "ann", after(1), draw=1, reason="blank")], state
    )
    state = tell_label(state, 1, "ham", "bob")
    assert not state.answers
    assert len(state.opinions[1]) == 1
    assert tell_one(state, state.draws[0], "ham", "bob", after(5)) == ()


def test_many_answers_are_told_as_if_one_by_one() -> None:
    state, _ = ask_items(started(), 3)
    ids = [item.id for item in state.draws]
    answers: list[dict[str, Any]] = [
        {"draw": 2, "label": "ham"},
        {"id": ids[0], "label": "spam"},
        {"draw": 2, "label": "ham"},
        {"id": ids[1], "label": "ham"},
    ]
    at_once = apply_events(decide.tell_all(state, answers, "ann", after(1)), state)
    for answer in answers:
        item = find_draw(state, draw=answer.get("draw"), id=answer.get("id"))
        events = tell_one(state, item, answer["label"], "ann", after(1))
        state = apply_events(events, state) if events else state
    assert at_once.answers == state.answers
    assert at_once.opinions == state.opinions
    assert at_once.n_events == state.n_events


def test_an_item_can_be_named_by_its_draw_or_its_id_or_both() -> None:
    state, _ = ask_items(started(), 2)
    item = state.draws[1]
    assert find_draw(state, draw=2) is item
    assert find_draw(state, id=item.id) is item
    assert find_draw(state, draw=2, id=item.id) is item
    with pytest.raises(CampaignError, match=r"Draw 1.*item"):
        find_draw(state, draw=1, id=item.id)


@pytest.mark.parametrize("draw", [0, -1, 3, "2", 1.5, True, None])
def test_a_draw_that_was_never_asked_is_refused(draw: object) -> None:
    state, _ = ask_items(started(), 2)
    with pytest.raises(LevelledError):
        find_draw(state, draw=draw)  # type: ignore[arg-type]


def test_an_item_that_was_drawn_but_not_asked_yet_is_refused() -> None:
    state, _ = ask_items(started(), 2)
    with pytest.raises(CampaignError, match="was never asked"):
        find_draw(state, id=state.draws[2].id)


def test_a_skipped_item_goes_to_somebody_else_under_the_same_number() -> None:
    state, _ = ask_items(started(), 2, "ann")
    state = skip_item(state, 1, "ann")
    assert ask_items(state, 2, "ann")[1] == [2, 3]
    assert ask_items(state, 1, "bob")[1] == [1]


def test_what_everybody_skipped_is_offered_to_nobody_and_stays_open() -> None:
    state, _ = ask_items(started(budget=1), 1, "ann")
    for owner in ("ann", "bob"):
        state, _ = ask_items(state, 1, owner)
        state = skip_item(state, 1, owner)
    assert ask_items(state, 1, "ann")[1] == ask_items(state, 1, "bob")[1] == []
    assert ask_items(state, 1, "cy")[1] == [1]
    assert state.open_draws() == [1]


def test_a_late_skip_does_not_take_the_item_from_whoever_has_it_now() -> None:
    state, _ = ask_items(started(budget=1), 1, "ann")
    state, again = ask_items(state, 1, "bob", at=LEASE)
    assert again == [1]
    state = skip_item(state, 1, "ann", at=LEASE + 1)
    assert ask_items(state, 1, "cy", at=LEASE + 2)[1] == []
    assert ask_items(state, 1, "cy", at=2 * LEASE)[1] == [1]


def test_items_in_flight_are_capped_and_the_note_says_so() -> None:
    state, draws = ask_items(started(in_flight=3), 5)
    assert draws == [1, 2, 3]
    handout = decide.ask(state, 1, "bob", after(1))
    assert (handout.asks, handout.events) == ((), ())
    assert handout.note is not None
    assert "3 items" in handout.note
    assert ask_items(tell_label(state, 2, "ham"), 5, "bob", at=1)[1] == [4]


def test_the_budget_is_not_passed_and_can_be_raised() -> None:
    state, draws = ask_items(started(budget=4), 9)
    assert draws == [1, 2, 3, 4]
    note = decide.ask(state, 1, "bob", after(1)).note
    assert "budget of 4 labels" in str(note)
    state = apply_events(decide.change(state, "ann", after(1), budget=6), state)
    assert ask_items(state, 9, "bob", at=1)[1] == [5, 6]


def test_the_end_of_the_pool_is_said() -> None:
    state, draws = ask_items(started(), 99)
    assert len(draws) == 30
    assert "no more items" in str(decide.ask(state, 1, "bob", after(1)).note)


def test_a_budget_below_what_was_given_out_is_refused() -> None:
    state, _ = ask_items(started(), 5)
    with pytest.raises(CampaignError, match="below the 5 items"):
        decide.change(state, "ann", after(1), budget=4)


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": 0},
        {"budget": "many"},
        {"budget": 2.5},
        {"lease_seconds": None},
        {"in_flight": 0},
        {"target_width": -1},
        {"target_width": float("nan")},
        {"seed": 8},
        {"metrics": ["brier"]},
        {"nonsense": 1},
    ],
)
def test_what_no_state_can_be_made_of_never_enters_the_log(settings: dict[str, object]) -> None:
    with pytest.raises(LevelledError):
        decide.change(started(), "ann", START, **settings)


def test_a_change_that_changes_nothing_is_not_recorded() -> None:
    assert decide.change(started(budget=4), "ann", START, budget=4) == ()


def test_a_target_width_needs_an_interval_that_may_be_watched() -> None:
    state = apply_events(beginning(numbers(20)[0], 20, metrics=("mse",), numeric=True))
    with pytest.raises(CampaignError, match="asymptotic"):
        decide.change(state, "ann", START, target_width=0.1)


def test_an_amended_answer_counts_and_the_one_before_is_kept() -> None:
    state = tell_label(ask_items(started(), 1)[0], 1, "ham")
    state = apply_events(amend_one(state, state.draws[0], "spam", "bob", after(9)), state)
    assert (state.answers[1].label, [one.label for one in state.amended[1]]) == ("spam", ["ham"])
    assert amend_one(state, state.draws[0], "spam", "bob", after(9)) == ()


def test_a_resolution_can_be_amended_by_a_label() -> None:
    state, _ = ask_items(started(), 1)
    state = apply_events(
        [decide.make_event(Resolved, state, "ann", after(1), draw=1, reason="blank")], state
    )
    state = apply_events(amend_one(state, state.draws[0], "spam", "bob", after(2)), state)
    assert (state.answers[1].label, state.unlabelable, [one.label for one in state.amended[1]]) == (
        "spam",
        {},
        [None],
    )


@pytest.mark.parametrize("owner", ["", " ", " ann", "ann\t", "an\nn", "\x1b[31mann"])
def test_an_owner_who_could_be_taken_for_another_is_refused(owner: str) -> None:
    with pytest.raises(CampaignError, match=r"name.*labeller"):
        ask_items(started(), 1, owner)


@pytest.mark.parametrize("label", [None, "", "  ", "eggs", ["ham"], float("nan")])
def test_a_label_that_is_no_class_is_refused(label: object) -> None:
    state, _ = ask_items(started(), 1)
    with pytest.raises(LevelledError):
        tell_label(state, 1, label)


@pytest.mark.parametrize("label", ["three", float("inf"), "nan", None])
def test_a_label_that_is_no_number_is_refused_where_numbers_are_labels(label: object) -> None:
    state = apply_events(beginning(numbers(20)[0], 20, metrics=("mse",), numeric=True))
    state, _ = ask_items(state, 1)
    with pytest.raises((InputError, CampaignError)):
        tell_label(state, 1, label)
    assert tell_label(state, 1, "3.5").answers[1].label == 3.5


def test_a_label_has_to_suit_every_metric() -> None:
    metrics = ("mse", "mean:0:5")
    state = apply_events(beginning(numbers(20)[0], 20, metrics=metrics, numeric=True))
    state, _ = ask_items(state, 1)
    with pytest.raises(LossError, match="between 0 and 5"):
        tell_label(state, 1, 7)


def test_a_log_must_begin_with_the_creation() -> None:
    events = beginning(POOL, 5)
    with pytest.raises(CampaignError, match="does not begin"):
        apply_events(events[1:])
    with pytest.raises(CampaignError, match="without events"):
        apply_events([])


def test_a_state_is_not_changed_by_what_comes_after_it() -> None:
    state, _ = ask_items(started(), 2)
    before = (dict(state.leases), dict(state.answers), state.n_events, len(state.draws))
    tell_label(skip_item(state, 1, "ann"), 2, "ham")
    assert (state.leases, state.answers, state.n_events, len(state.draws)) == before


def test_a_draw_whose_answer_is_on_its_way_is_not_handed_out_again() -> None:
    state, _ = ask_items(started(), 2, "ann")
    handout = decide.ask(state, 1, "ann", after(1), 5, besides=[1, 2])
    assert [one.draw for one in handout.asks] == [3]
    late = decide.ask(state, 1, "bob", after(LEASE), besides=[1])
    assert [one.draw for one in late.asks] == [2], "also not once its lease ran out"


def test_a_lease_that_ran_out_is_renewed_unless_another_has_the_item() -> None:
    state, _ = ask_items(started(), 2, "ann")
    state, _ = ask_items(state, 1, "bob", at=LEASE)
    events = decide.renew(state, [1, 2], "ann", after(LEASE + 1))
    state = apply_events(events, state)
    assert decide.draws_in_flight(state, "ann", after(LEASE + 1)) == [2]
    assert decide.draws_in_flight(state, "bob", after(LEASE + 1)) == [1]
