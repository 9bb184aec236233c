"""The part of a campaign that its labellers use."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from levelled._check import whole
from levelled.campaigns.log import decide
from levelled.campaigns.log.log import Decision
from levelled.campaigns.log.records import Ask, Event, OpenItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.agreement import Agreement, agreement_of
from levelled.campaigns.people.pace import Pace, paces_of


def current_time() -> datetime:
    """The time for the next event."""
    return datetime.now(UTC)


def check_seconds(seconds: int | None) -> int | None:
    """The length of a lease, a whole number of seconds; None is that of the campaign."""
    return None if seconds is None else whole("lease_seconds", seconds, least=1)


class Labellers(ABC):
    """The steps of labellers: answers, corrections, and the items they have.

    A subclass knows the state and appends the events of a decision.
    """

    note: str | None
    """The reason why the last `ask` or `mine` gave fewer items than it should."""

    @property
    @abstractmethod
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""

    @abstractmethod
    def _do(self, decision: Decision) -> int:
        """Decide on the newest state and append; the number of events."""

    def tell(
        self,
        draw: int | None = None,
        label: object = None,
        *,
        id: str | int | None = None,  # noqa: A002
        owner: str | None = None,
        note: str | None = None,
        rubric: Mapping[str, object] | None = None,
    ) -> None:
        """Record the label of a draw, or of the item with that id.

        `rubric` has the answers to the questions of the campaign, by their names.
        """
        answer = {"draw": draw, "id": id, "label": label, "note": note, "rubric": rubric}
        self.tell_all([answer], owner=owner)

    def tell_all(self, answers: Iterable[Mapping[str, Any]], *, owner: str | None = None) -> int:
        """Record many labels at once, all or none, and return how many were new.

        An answer has a "label" and the "draw" or "id" it belongs to, and may have a "note" and a
        "rubric". Its optional "where", such as "Row 3 of done.csv", begins the message if it is
        refused. A label that differs from what the same owner told before is refused: `amend_all`
        corrects it. The same label with another note or rubric amends these.
        """
        messages = list(answers)
        return self._do(lambda state: decide.tell_all(state, messages, owner, current_time()))

    def amend(
        self,
        draw: int,
        label: object,
        *,
        owner: str | None = None,
        note: str | None = None,
        rubric: Mapping[str, object] | None = None,
    ) -> None:
        """Replace a label, also in a closed campaign; log and report keep the one before.

        Note and rubric stay as they were where no new ones are given; "" removes a note.
        """
        answer = {"draw": draw, "label": label, "note": note, "rubric": rubric}
        self.amend_all([answer], owner=owner)

    def amend_all(self, answers: Iterable[Mapping[str, Any]], *, owner: str | None = None) -> int:
        """Replace many labels at once, all or none, and return how many changed.

        Answers are like those of `tell_all`. Estimates follow the new labels; the probabilities
        of past draws stay as they are. An owner whose label is a second opinion replaces that.
        """
        messages = list(answers)
        return self._do(lambda state: decide.amend_all(state, messages, owner, current_time()))

    def undo(self, *, owner: str | None = None) -> int:
        """Withdraw the owner's last label, amendment or mark as unlabelable; return its draw.

        The draw has the label before the amendment again, or another labeller's second opinion;
        without either it is open and kept for the owner.
        """
        undone: list[Event] = []

        def decision(state: CampaignState) -> Sequence[Event]:
            undone[:] = decide.undo(state, owner, current_time())
            return undone

        self._do(decision)
        return int(undone[0]["draw"])

    def skip(self, draw: int, *, reason: str = "", owner: str | None = None) -> None:
        """Pass an item on to another labeller, under the same number."""
        self._do(
            lambda state: decide.set_aside(state, "skipped", draw, reason, owner, current_time())
        )

    def mark_unlabelable(self, draw: int, *, reason: str, owner: str | None = None) -> None:
        """Declare that an item cannot be labelled; estimates are then over the items that can."""
        self._do(
            lambda state: decide.set_aside(state, "resolved", draw, reason, owner, current_time())
        )

    def mine(self, owner: str | None = None) -> list[Ask]:
        """The owner's open items again, with the same numbers; their leases begin anew.

        Without an owner they are those that were asked for without a name.
        """
        asks: list[Ask] = []

        def decision(state: CampaignState) -> Sequence[Event]:
            handout = decide.mine(state, owner, current_time())
            asks[:], self.note = handout.asks, handout.note
            return handout.events

        self._do(decision)
        return asks

    def renew(
        self, draws: Iterable[int], *, owner: str | None = None, lease_seconds: int | None = None
    ) -> None:
        """Prolong the leases of some of the owner's items; those that others have stay theirs.

        It stores nothing while more than half of the time is left.
        """
        wanted, seconds = [*draws], check_seconds(lease_seconds)
        self._do(lambda state: decide.renew(state, wanted, owner, current_time(), seconds))

    def give_back(
        self,
        *,
        owner: str | None = None,
        draws: Iterable[int] | None = None,
        everyone: bool = False,
    ) -> list[int]:
        """End leases, so that others can have the items now, and return their draws.

        They are all items of the owner, or only some `draws`; with `everyone`, those of all
        labellers. The draws keep their numbers. The shell's word for it is `levelled return`.
        """
        wanted, returned = None if draws is None else list(draws), list[int]()

        def decision(state: CampaignState) -> Sequence[Event]:
            events = decide.give_back(state, owner, wanted, everyone, current_time())
            returned[:] = [draw for event in events for draw in event["draws"]]
            return events

        self._do(decision)
        return returned

    def open_items(self) -> list[OpenItem]:
        """Every item that was handed out and has no label yet: who has it, and since when."""
        return decide.open_items(self.state)

    def agreement(self) -> Agreement | None:
        """How far labellers agree on items that two of them labelled; None without any."""
        return agreement_of(self.state)

    def paces(self) -> list[Pace]:
        """The work of each labeller: how many labels, since when, and how long one takes."""
        return paces_of(self.state)
