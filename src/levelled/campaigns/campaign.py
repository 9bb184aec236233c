"""Campaign: the object users hold. It loads, decides by pure functions, and appends events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled._check import whole
from levelled._optional import optional
from levelled.campaigns.log import decide
from levelled.campaigns.log.anchors import Anchor, anchor_place, find_hash, why_not_found
from levelled.campaigns.log.events import (
    Answered,
    Closed,
    Event,
    LabelsKnown,
    LossesReplaced,
    Renamed,
    Reopened,
    Resolved,
    Skipped,
    apply_events,
)
from levelled.campaigns.log.log import CampaignLog, Decision
from levelled.campaigns.log.records import Ask, OpenItem
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.people.shown import label_question
from levelled.campaigns.settings import CampaignSettings, Question
from levelled.campaigns.stores import DEFAULT_STORAGE, Store, open_store
from levelled.errors import CampaignError, InputError, LevelledError

# What only analysts and managers need (figures, comparisons, reports, audits, pools, further draws)
# is imported where it is made: labellers need not wait for it.
if TYPE_CHECKING:
    import pyarrow as pa

    from levelled.campaigns.audit import Audit
    from levelled.campaigns.drawing.learnt import CampaignPredictor
    from levelled.campaigns.drawing.pools import CampaignPool
    from levelled.campaigns.figures.figures import CampaignDiagnosis
    from levelled.campaigns.figures.gate import GateClaim
    from levelled.campaigns.figures.settled import FigureCache
    from levelled.campaigns.people.labellers import Agreement, Pace
    from levelled.campaigns.people.waiting import Waiting
    from levelled.metrics.comparison import Comparison, Figure
    from levelled.metrics.judging import JudgeReport
    from levelled.metrics.planning import Plan
    from levelled.reports import Report
    from levelled.reports.figures import Figures
    from levelled.sources import Pool

AHEAD = 1000
"""The number of draws made ahead where there is no budget."""


class Campaign:
    """An evaluation under way: ask for items, tell their labels, read the estimate.

    Made by `create_campaign` and `load_campaign`. Several people and processes may work on the
    same campaign: a step that another one overtook is decided again on the newer state.

    Parameters
    ----------
    name : Name of the campaign.
    store : The store that has its events.
    pool : Its pool, if it is open already; otherwise it is opened when it is needed.
    scores : The files of its attached predictors, if they have moved.
    """

    def __init__(
        self, name: str, store: Store, *, pool: Pool | None = None, scores: Sequence[Pool] = ()
    ) -> None:
        self.name = name
        self._log = CampaignLog(name, store)
        self._files = pool, scores
        self.note: str | None = None
        """Why the last `ask` or `mine` gave fewer items than it should, or labels do not count."""
        self.second_opinions: list[int] = []
        """The draws whose labels, told or amended last, do not count; `note` says why."""

    def __repr__(self) -> str:
        state = self.state
        return (
            f"Campaign({self.name!r}: {len(state.answers)} labels, {state.n_settled} settled, "
            f"pool of {state.settings.pool_size})"
        )

    def _repr_html_(self) -> str:
        """The figures of the campaign so far, for a notebook."""
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.figures._repr_html_()}"

    def sibling(self) -> Campaign:
        """Another object of the same campaign, which shares its pool, for another thread."""
        other = Campaign(self.name, self._log.store)
        other._pool = self._pool
        return other

    @property
    def _cache(self) -> FigureCache:
        """Results of earlier looks; figures also need the pool, which it opens where they do."""
        cache = self._log.cache
        cache.pool_at = self._pool.at
        return cache

    @cached_property
    def _pool(self) -> CampaignPool:
        from levelled.campaigns.drawing.pools import CampaignPool

        return CampaignPool(*self._files)

    @property
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""
        return self._log.state

    @property
    def settings(self) -> CampaignSettings:
        """The choices the campaign was created with, and later changes of them."""
        return self.state.settings

    @property
    def known_settings(self) -> CampaignSettings:
        """The settings when the log was last read; unlike `settings`, this reads nothing."""
        return self._log.known_state.settings

    @property
    def questions(self) -> list[Question]:
        """What a labeller answers of each item: first the label, then the rubric."""
        return [label_question(self.settings), *self.settings.questions]

    @property
    def last_hash(self) -> str:
        """The hash of the last event that was read, for `audit` to compare later."""
        return self._log.last_hash

    @property
    def n_events(self) -> int:
        """The number of events that were read or stored by this object."""
        return self._log.n_events

    # What labellers do.

    def ask(
        self,
        n: int = 1,
        *,
        owner: str | None = None,
        lease_seconds: int | None = None,
        besides: Iterable[int] = (),
    ) -> list[Ask]:
        """Up to n items to label; they are kept for `owner` until their lease runs out.

        The owner's open items come first, so nothing is lost with a file or a terminal. Without
        a name all are new ones, because somebody else may have those that are out.
        Each draw was stored with its probability before it is shown here. There are fewer items
        if the budget is used up or too many are in flight already; `note` then says why.

        Parameters
        ----------
        n : The number of items.
        owner : Name of the labeller.
        lease_seconds : How long they are kept, if shorter than in the campaign; see `renew`.
        besides : Draws whose answers are on their way: they are not handed out again.
        """
        n, seconds, done = whole("n", n, least=1), _check_seconds(lease_seconds), [*besides]
        if self._must_draw(state := self._log.known_state, n):
            self._pool.at(state, len(state.draws) + 1)  # opened before anybody has to wait for it
        return self._hand_out(n, owner, seconds, done)

    def mine(self, owner: str | None = None) -> list[Ask]:
        """The owner's open items again, with the same numbers; their leases begin anew.

        Without an owner they are those that were asked for without a name.
        """
        return self._hand_out(None, owner)

    def renew(
        self, draws: Iterable[int], *, owner: str | None = None, lease_seconds: int | None = None
    ) -> list[int]:
        """Prolong the leases of some of the owner's items, and return those that are kept now.

        Items that others have by now stay theirs. It stores nothing while more than half of the
        time is left.
        """
        wanted, seconds, kept = [*draws], _check_seconds(lease_seconds), list[int]()

        def renew(state: CampaignState, now: datetime) -> Sequence[Event]:
            events = decide.renew(state, wanted, owner, now, seconds)
            kept[:] = decide.draws_in_flight(apply_events(events, state), owner, now)
            return events

        self._do(renew)
        return [draw for draw in kept if draw in {*wanted}]

    def give_back(
        self,
        *,
        owner: str | None = None,
        draws: Iterable[int] | None = None,
        everyone: bool = False,
        on_behalf_of: str | None = None,
    ) -> list[int]:
        """End leases, so that others can have the items now, and return their draws.

        The draws keep their numbers. The command is `levelled open --return`.

        Parameters
        ----------
        owner : Name of the labeller, whose items are all given back.
        draws : Only some of the items, by their draws.
        everyone : Also items of other labellers; the log says so.
        on_behalf_of : The labeller whose items an analyst, the owner, gives back.
        """
        wanted = None if draws is None else list(draws)
        events = self._log.do(
            lambda state, now: decide.give_back(state, owner, wanted, everyone, now, on_behalf_of)
        )
        return [draw for event in events for draw in event.draws]

    def tell(
        self,
        draw: int | None = None,
        label: object = None,
        *,
        id: str | int | None = None,  # noqa: A002
        owner: str | None = None,
        note: str | None = None,
        rubric: Mapping[str, object] | None = None,
        on_behalf_of: str | None = None,
    ) -> None:
        """Record the label of a draw, or of the item with that id; `note` says if it came late.

        Parameters
        ----------
        draw : The number of the draw; `id` will do instead.
        label : A class, or a number where the metrics are of numbers.
        id : The id of the item.
        owner : Name of the labeller, who was given the item; without it, the label is of whoever
            has the item.
        note : Free text of the labeller, kept beside the label.
        rubric : Answers to the further questions of the campaign, by their names.
        on_behalf_of : The labeller whose label it is, where an analyst, the owner, enters it; they
            need not have been given the item, and the log names both.
        """
        answer = {"draw": draw, "id": id, "label": label, "note": note, "rubric": rubric}
        self.tell_all([answer], owner=owner, on_behalf_of=on_behalf_of)

    def tell_all(
        self,
        answers: Iterable[Mapping[str, Any]],
        *,
        owner: str | None = None,
        on_behalf_of: str | None = None,
    ) -> int:
        """Record many labels at once, all or none, and return how many were new.

        An answer has a "label" and the "draw" or "id" it belongs to, and may have a "note" and a
        "rubric". Its optional "where", such as "Row 3 of done.csv", begins the message if it is
        refused. A label that differs from what the same owner told before is refused: `amend_all`
        corrects it. The same label with another note or rubric amends these. `second_opinions`
        are the draws whose label came too late to count, and `note` says why. `owner` and
        `on_behalf_of` are those of `tell`.
        """
        messages = list(answers)
        return self._do_noting(
            lambda state, now: decide.tell_all(state, messages, owner, now, on_behalf_of)
        )

    def amend(
        self,
        draw: int,
        label: object,
        *,
        owner: str | None = None,
        note: str | None = None,
        rubric: Mapping[str, object] | None = None,
        on_behalf_of: str | None = None,
    ) -> None:
        """Replace a label, also in a closed campaign; log and report keep the one before.

        Parameters
        ----------
        draw : The number of the draw.
        label : The correct label.
        owner : Name of the labeller, who gave the label; one whose label is a second opinion
            replaces that.
        note : A new note; "" removes the one before, and None keeps it.
        rubric : New answers to further questions; those that are not named stay.
        on_behalf_of : The labeller whose label it becomes, where an analyst, the owner, corrects
            the label of somebody else; the log names both.
        """
        answer = {"draw": draw, "label": label, "note": note, "rubric": rubric}
        self.amend_all([answer], owner=owner, on_behalf_of=on_behalf_of)

    def amend_all(
        self,
        answers: Iterable[Mapping[str, Any]],
        *,
        owner: str | None = None,
        on_behalf_of: str | None = None,
    ) -> int:
        """Replace many labels at once, all or none, and return how many changed.

        Answers are like those of `tell_all`. Estimates follow the new labels; the probabilities
        of past draws stay as they are. An owner whose label is a second opinion replaces that.
        `owner` and `on_behalf_of` are those of `amend`.
        """
        messages = list(answers)
        return self._do_noting(
            lambda state, now: decide.amend_all(state, messages, owner, now, on_behalf_of)
        )

    def undo(
        self,
        *,
        owner: str | None = None,
        on_behalf_of: str | None = None,
        lease_seconds: int | None = None,
    ) -> int:
        """Withdraw the owner's last label, amendment or mark as unlabelable; return its draw.

        The draw has the label before the amendment again, or another labeller's second opinion;
        without either it is open and kept for the owner. An analyst, the owner, may do so on
        behalf of a labeller.
        """
        seconds = _check_seconds(lease_seconds)
        (event,) = self._log.do(
            lambda state, now: decide.undo(state, owner, now, on_behalf_of, seconds)
        )
        return event.draw

    def skip(
        self,
        draw: int,
        *,
        reason: str = "",
        owner: str | None = None,
        on_behalf_of: str | None = None,
    ) -> None:
        """Pass an item on to another labeller, under the same number.

        Parameters
        ----------
        draw : The number of the draw.
        reason : The reason, for the record.
        owner : Name of the labeller, who was given the item.
        on_behalf_of : The labeller for whom an analyst, the owner, passes it on.
        """
        step = partial(decide.set_aside, Skipped, reason=reason)
        draw = whole("draw", draw, least=1)
        self._do(lambda state, now: step(state, draw, owner, now, on_behalf_of))

    def mark_unlabelable(
        self, draw: int, *, reason: str, owner: str | None = None, on_behalf_of: str | None = None
    ) -> None:
        """Declare that an item cannot be labelled; estimates are then over the items that can.

        Parameters
        ----------
        draw : The number of the draw.
        reason : Why nobody can label it.
        owner : Name of the labeller, who was given the item.
        on_behalf_of : The labeller for whom an analyst, the owner, marks it.
        """
        step = partial(decide.set_aside, Resolved, reason=reason)
        draw = whole("draw", draw, least=1)
        self._do(lambda state, now: step(state, draw, owner, now, on_behalf_of))

    def open_items(self) -> list[OpenItem]:
        """Every item that was handed out and has no label yet: who has it, and since when."""
        return decide.open_items(self.state)

    def waiting(self) -> Waiting | None:
        """The labels that no figure counts yet, because somebody has had earlier items for long."""
        from levelled.campaigns.people.waiting import labels_waiting

        return labels_waiting(self.state, self._log.now())

    # What analysts read.

    @property
    def figures(self) -> Figures:
        """What `estimate` returns: a list that prints as a table, also in a notebook.

        `figures.to_pandas()` is a frame, and `figures.plot()` draws the intervals.
        """
        return self.estimate()

    def estimate(self) -> Figures:
        """Every metric, model and slice with its interval, from the settled draws.

        The intervals are valid however often you look, except where a warning says otherwise.
        `figure.difference("v2")` compares another model with a figure.
        """
        from levelled.campaigns.drawing.learnt import predictor_of
        from levelled.campaigns.figures.comparing import comparable_figures
        from levelled.reports.figures import Figures

        state, cache = self.state, self._cache

        def summary() -> str | None:
            learnt = predictor_of(state, self._pool.at, cache)
            return None if learnt is None else learnt.summary

        return Figures(comparable_figures(state, cache), self.name, summary)

    def history(self) -> list[Figure]:
        """The first metric of the first model after 1, 2, ... settled draws.

        Long campaigns are read at about 150 evenly spaced numbers of draws.
        """
        from levelled.campaigns.figures.figures import estimate_history

        return estimate_history(self.state, self._cache)

    def is_reached(self, figures: Sequence[Figure], target_width: float | None = None) -> bool:
        """True if the first interval is at most `target_width` wide, or the campaign's width."""
        width, first = self._target(target_width), figures[0].estimate
        return width is None or first.high - first.low <= width

    def watch(self, *, target_width: float | None = None, every: float = 1.0) -> Iterator[Figures]:
        """Yield the figures after each change, until the target is reached or the campaign closed.

        PostgreSQL tells of changes; in SQLite it looks for them every `every` seconds. Without a
        target it ends when the campaign does.
        """
        has_target = self._target(target_width) is not None
        for _ in self.changes(every=every):
            figures = self.estimate()
            yield figures
            if has_target and self.is_reached(figures, target_width):
                return

    def changes(
        self, *, every: float = 1.0, timeout: float | None = None
    ) -> Iterator[CampaignState]:
        """Yield the state at once and after each change, until the campaign is closed.

        It ends after `timeout` seconds, if that is given. See `watch` for `every`.
        """
        seen, end = -1, None if timeout is None else time.monotonic() + timeout
        with self._log.store.watching(self.name) as wait:
            while True:
                state = self.state
                if state.n_events != seen:
                    seen = state.n_events
                    yield state
                    if state.closed is not None:
                        return
                left = every if end is None else min(every, end - time.monotonic())
                if left <= 0:
                    return
                wait(left)

    def compare(
        self, model: str, against: str | None = None, metric: str | None = None
    ) -> list[Comparison]:
        """The metric of `model` minus that of another, on the same labels; one comparison a metric.

        `against` is the first model where it is not given, and "first" names that one too. Without
        a `metric` all of the campaign are compared. `comparison.better` names the better model;
        the interval is valid like those of the estimates.
        """
        from levelled.campaigns.figures.comparing import compare_models

        return compare_models(self.state, self._cache, model, against, metric)

    def comparisons(self) -> list[Comparison]:
        """Each further model against the first, in every metric that can be compared."""
        from levelled.campaigns.figures.comparing import compare_with_first

        return compare_with_first(self.state, self._cache)

    def gate(
        self,
        metric: str | None = None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        better_than: str | None = None,
        margin: float = 0.0,
        model: str | None = None,
        level: float | None = None,
    ) -> GateClaim:
        """The word on one claim: shown, refuted, or not yet; labels and files stay as they are.

        Name one of `at_least`, `at_most` and `better_than`. The word comes from an interval with a
        finite-sample guarantee: however often you look, it is wrong with probability 1 - `level`
        at most.

        Parameters
        ----------
        metric : The metric of the claim; by default the first.
        at_least : The claim that the metric is at least this.
        at_most : The claim that the metric is at most this.
        better_than : The claim that `model` is better than the model of this name.
        margin : How much better it must be.
        model : The model of the claim; by default the first.
        level : The confidence level; by default that of the campaign.
        """
        from levelled.campaigns.figures.gate import decide_better, decide_limit

        state, cache, about = self.state, self._cache, (metric, model, level)
        if better_than is not None and at_least is None and at_most is None:
            return decide_better(state, cache, *about, better_than, margin)
        if better_than is None and at_most is None and at_least is not None:
            return decide_limit(state, cache, *about, "at least", at_least)
        if better_than is None and at_least is None and at_most is not None:
            return decide_limit(state, cache, *about, "at most", at_most)
        raise InputError("A claim needs one of at_least, at_most and better_than.")

    def judge(
        self,
        model: str | None = None,
        *,
        against: str | None = None,
        positive: str | None = None,
        by: str | None = None,
        tpr: float = 0.9,
        tnr: float = 0.9,
    ) -> JudgeReport:
        """Check the verdicts of a model against the labels.

        The report has the rate of the `positive` class that people would find in the pool beside
        the judge's own, TPR, TNR, precision, agreement and kappa, and slices where the judge is
        worst first. For ratings it has the mean, bias, mean absolute difference and correlation.

        Parameters
        ----------
        model : The judge; by default the first model.
        against : Another judge to compare with, on the same labels.
        positive : The verdict that is counted; by default the class of the first metric.
        by : The slice column to look at; by default all of the campaign.
        tpr : The true positive rate that the judge is to be shown to reach.
        tnr : The true negative rate that it is to be shown to reach.
        """
        from levelled.campaigns.drawing.pools import predicted_numbers
        from levelled.campaigns.figures.judging import judge_model

        options = {"against": against, "positive": positive, "by": by}
        numbers = partial(predicted_numbers, self.state, self.pool)
        return judge_model(self.state, self._cache, numbers, model, **options, tpr=tpr, tnr=tnr)

    def diagnosis(self) -> CampaignDiagnosis | None:
        """The weights of the labels, and those that matter most; None before one is settled."""
        from levelled.campaigns.figures.figures import diagnose_campaign

        return diagnose_campaign(self.state, self._cache)

    def plan(self, width: float, metric: str | None = None, expected: float | None = None) -> Plan:
        """The number of labels until an interval is `width` wide, from the labels there are."""
        from levelled.campaigns.drawing.learnt import plan_further

        return plan_further(self.state, self._cache, self.pool(), width, metric, expected)

    @property
    def predictor(self) -> CampaignPredictor | None:
        """What an adaptive campaign has learnt about its losses; None before its first round."""
        from levelled.campaigns.drawing.learnt import predictor_of

        return predictor_of(self.state, self._pool.at, self._cache)

    def agreement(self) -> Agreement | None:
        """How far labellers agree on items that two of them labelled; None without any."""
        from levelled.campaigns.people.labellers import agreement_of

        return agreement_of(self.state)

    def paces(self) -> list[Pace]:
        """The work of each labeller: how many labels, since when, and how long one takes."""
        from levelled.campaigns.people.labellers import paces_of

        return paces_of(self.state)

    def report(self, path: str | Path) -> None:
        """Write figures, plots, settings and corrections as one file, which ends in .html."""
        from levelled.reports import page

        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise InputError(f"A report is an HTML file: {path} must end in .html.")
        text = page(self.report_content())
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")

    def report_content(self) -> Report:
        """The content of the report, for other pages to show the same."""
        from levelled.campaigns.drawing.learnt import learnt_sections, predictor_of
        from levelled.campaigns.figures.comparing import comparable_figures, compare_with_first
        from levelled.campaigns.figures.exporting import make_report
        from levelled.campaigns.figures.figures import estimate_history
        from levelled.campaigns.figures.judging import judge_section

        state, cache = self.state, self._cache  # one state for all parts
        learnt = learnt_sections(predictor_of(state, self._pool.at, cache))
        return make_report(
            state,
            comparable_figures(state, cache),
            estimate_history(state, cache),
            compare_with_first(state, cache),
            self._log.last_hash,
            [*judge_section(state, cache), *learnt],
        )

    def to_table(self) -> pa.Table:
        """Draws, labels, predictions and training weights: one row for each draw given out."""
        from levelled.campaigns.figures.exporting import as_table

        return as_table(self.state)

    def to_frame(self) -> Any:  # noqa: ANN401
        """`to_table` as a pandas frame."""
        optional("pandas", extra="pandas")
        return self.to_table().to_pandas()

    def export(self, path: str | Path, *, raw: bool = False) -> None:
        """Write `to_table` as .parquet, .jsonl or .csv, harmless to spreadsheets unless `raw`."""
        from levelled.campaigns.figures.exporting import write_table

        write_table(self.to_table(), Path(path), raw=raw)

    def audit(self, *, expect: str | None = None, anchor: str | Path | None = None) -> Audit:
        """Recompute everything that log and pool determine; return each difference in a line.

        `expect` is the hash of an event that was noted earlier, or its first 12 digits or more;
        `anchor` a file of such hashes, by default the one that the campaign writes.
        """
        from levelled.campaigns.audit import audit_log

        with suppress(LevelledError):
            _ = self.state
        path = str(anchor or self._log.anchor_path)
        # Before the events, since those of the lines that are written meanwhile may be newer.
        anchored = (Anchor(path).new_lines(), path) if path else None
        events = self._log.store.events(self.name)
        return audit_log(self.name, events, self._pool.at, expect, anchored)

    def expect(self, noted: str) -> None:
        """Refuse a log without an event of this hash, or its first 12 digits, noted earlier."""
        if find_hash(noted, self._log.store.hashes(self.name)) is None:
            raise CampaignError(
                f"{self.name!r} cannot be trusted: {why_not_found(noted)}. Go back to a backup."
            )

    # What managers change.

    def attach(self, predictions: Any, model: str) -> None:  # noqa: ANN401
        """Estimate another model from the same labels: a file or frame of ids and predictions.

        It needs a prediction for every item drawn so far. Estimates stay unbiased, because the
        draws did not depend on this model. The campaign may be closed. A frame is saved as a
        Parquet file beside the SQLite file of the storage, for further draws of any process; with
        PostgreSQL it serves this process alone.
        """
        from levelled.campaigns.drawing.pools import attach_event, keep_frame
        from levelled.sources import open_pool

        opened = open_pool(predictions, classes=self.settings.classes)

        def attached(state: CampaignState, now: datetime) -> Sequence[Event]:
            known, at = dict(enumerate(state.known_items)), decide.time_text(now)
            return [attach_event(state.settings, state.draws, opened, model, at=at, known=known)]

        if opened.source is None:
            attached(self.state, self._log.now())  # refuses first
            name = f"{self.name}-{model}-{opened.fingerprint[:12]}"
            opened = keep_frame(opened, name, self._log.store.address)
        self._do(attached)

    def attach_labels(self, labels: Any, *, owner: str | None = None) -> int:  # noqa: ANN401
        """Add labels that somebody has already, from a file or frame of ids and labels.

        However their items were chosen, the estimates stay unbiased: these items count as they
        are, and are not drawn any more. Items that were drawn already are passed over, since their
        labels are told; `note` then says how many. Returns the number of labels added.
        """
        from levelled.campaigns.drawing.known import known_events

        def known(state: CampaignState, now: datetime) -> Sequence[Event]:
            events, self.note = known_events(self.pool(), state, labels, owner, now)
            return events

        stored = self._log.do(known)
        return sum(len(one.items) for one in stored if isinstance(one, LabelsKnown))

    def rescore(
        self,
        predictions: Any,  # noqa: ANN401
        *,
        save_as: str | Path | None = None,
        owner: str | None = None,
    ) -> None:
        """Replace the predicted losses that guide the draws, from the next item on.

        `predictions` is a file or frame of ids with loss_hat or surrogate_<class>, or a fitted
        scikit-learn model that predicts from the pool's features; `save_as` is a Parquet file
        for its predictions. Other processes, and their audits, need a file.
        """
        from levelled.campaigns.drawing.pools import place_of

        scores = self._pool.open_scores(self.settings, predictions, save_as)
        named = {"source": place_of(scores), "fingerprint": scores.fingerprint}
        self._record(LossesReplaced, owner, **named)

    def change(self, *, owner: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        """Change the kind of draws, budget, target width, leases, items in flight or anchor."""
        if settings.get("anchor"):
            settings["anchor"] = self._log.check_anchor(anchor_place(settings["anchor"]))
        if "kind" in settings:
            from levelled.campaigns.drawing.pools import check_kind

            check_kind(self.settings, settings["kind"], self.pool)
        self._do(lambda state, now: decide.change(state, owner, now, **settings))
        self.note = self._say_looks() if "budget" in settings else None

    def _say_looks(self) -> str | None:
        """A sentence where a new budget has no further look, or one out of the reserve."""
        settings, next_look = self.settings, self.settings.next_look(self.state.n_settled)
        if not settings.looks or (next_look is not None and not settings.n_extra):
            return None
        if next_look is None:
            return "there is no look after those that were taken: further labels move the value"
        return (
            f"the looks of the first budget were taken, so there is one more, in {next_look} "
            f"labels, with a part of the reserve: its interval is wider than a planned one"
        )

    def close(self, *, reason: str = "finished", owner: str | None = None) -> None:
        """End the campaign; its estimates remain."""
        self._record(Closed, owner, reason=reason)

    def reopen(self, *, owner: str | None = None) -> None:
        """Let a closed campaign go on."""
        self._record(Reopened, owner)

    def rename(self, name: str, *, owner: str | None = None) -> None:
        """Give the campaign another name; its log records when, and by whom."""
        self._log.rename(
            name, lambda state, now: decide.make_event(Renamed, state, owner, now, name=name)
        )
        self.name = name

    def delete(self) -> None:
        """Remove the campaign with all its events for good."""
        self._log.delete()

    def keep(self) -> None:
        """Store the state and the betting games, so that the next process begins with them."""
        self._log.keep()

    def pool(self) -> Pool:
        """The pool; refuses one whose content is not that at creation."""
        return self._pool.open(self.settings)

    def _target(self, width: float | None) -> float | None:
        from levelled.campaigns.drawing.pools import check_width

        settings = self.state.settings
        return check_width(settings.metrics[0], width) or settings.target_width

    def _must_draw(self, state: CampaignState, n: int) -> bool:
        """True if fewer than n drawn items are left to hand out, and there may be more."""
        needed = min(state.n_asked + n, state.last_draw)
        return state.closed is None and needed > len(state.draws)

    def _draw_ahead(self, state: CampaignState, n: int, now: datetime) -> list[Event]:
        """The events of further draws, until n more can be handed out."""
        if not self._must_draw(state, n):
            return []
        from levelled.campaigns.drawing.drawing import draw_events

        pool = self._pool.at(state, len(state.draws) + 1)
        return draw_events(pool, state, state.n_asked + n, at=decide.time_text(now))

    def _hand_out(
        self,
        n: int | None,
        owner: str | None,
        seconds: int | None = None,
        besides: Sequence[int] = (),
    ) -> list[Ask]:
        """Hand out n items, after further draws if they are needed; None for the owner's again."""
        asks: list[Ask] = []

        def decide_both(state: CampaignState, now: datetime) -> Sequence[Event]:
            own = 0 if owner is None else len({*decide.draws_kept_for(state, owner)} - {*besides})
            drawn = [] if n is None else self._draw_ahead(state, n - own, now)
            newer = apply_events(drawn, state)
            handout = decide.ask(newer, n, owner, now, seconds, besides)
            asks[:], self.note = handout.asks, handout.note
            return [*drawn, *handout.events]

        self._do(decide_both)
        return asks

    def _record(self, kind: type[Event], owner: str | None, **payload: Any) -> None:  # noqa: ANN401
        """Append an event that holds what it is given, unless it cannot happen."""
        self._do(lambda state, now: [decide.make_event(kind, state, owner, now, **payload)])

    def _do_noting(self, decision: Callable[[CampaignState, datetime], Sequence[Answered]]) -> int:
        """Append labels, and note which of them do not count; the number of events."""

        def decide_and_note(state: CampaignState, now: datetime) -> Sequence[Answered]:
            told = decision(state, now)
            self.second_opinions, self.note = decide.note_uncounted(state, told)
            return told

        return self._do(decide_and_note)

    def _do(self, decision: Decision) -> int:
        """Decide on the newest state and append; the number of events."""
        return len(self._log.do(decision))


def _check_seconds(seconds: int | None) -> int | None:
    """The length of a lease, a whole number of seconds; None is that of the campaign."""
    return None if seconds is None else whole("lease_seconds", seconds, least=1)


def load_campaign(
    name: str,
    *,
    storage: str | Path = DEFAULT_STORAGE,
    pool: Any = None,  # noqa: ANN401
    scores: Any = (),  # noqa: ANN401
) -> Campaign:
    """The campaign of this name.

    Parameters
    ----------
    name : Name of the campaign.
    storage : Database of the campaigns.
    pool : Its pool, if the file has moved or was a frame in memory.
    scores : The files of its attached predictors, one or a list, if they have moved.
    """
    store = open_store(storage, create=False)
    campaign = Campaign(name, store)
    state = campaign.state  # refuses a name that is not there
    if pool is None and isinstance(scores, list | tuple) and not scores:
        return campaign
    from levelled.campaigns.drawing.pools import open_moved_scores, pool_options
    from levelled.sources import open_pool

    opened = None if pool is None else open_pool(pool, **pool_options(state.settings))
    campaign = Campaign(name, store, pool=opened, scores=open_moved_scores(state, scores))
    campaign.pool()  # refuses another pool than the one on record
    return campaign
