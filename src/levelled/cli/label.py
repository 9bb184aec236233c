"""`levelled label`: label items one after another in the terminal."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from levelled.cli import show
from levelled.cli.options import OpenedWithFiles, Owner
from levelled.cli.screens import LONGEST, Key, Page, Screen, open_screen
from levelled.errors import LevelledError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from levelled.campaigns import Ask, Campaign, Question
    from levelled.sources import ShownField

_RENEWALS = 4  # in the time for which an item is kept: one that gets lost does no harm
_KEYS = "s skip   u undo   f note   g guidelines   ? help   q quit"
_HELP = """\
- `1` to `9` and `0` pick a class or a rating. The label is stored at once, or after the last
  question.
- `t` or Enter lets you type a class or a number. Further questions may be passed over with Enter.
- `s` passes the item on to another labeller, with a reason if you like.
- `x` says that nobody can label it, and why.
- `u` or Backspace goes back one question, or withdraws your last label.
- `f` writes a note that is stored with the label.
- `g` shows the guidelines, `?` this help.
- The arrows, `j`, `k`, Page Up and Page Down scroll.
- `q` stops. The open item is given back, for whoever asks next.

Each label is stored as soon as it is given, so nothing is lost if the connection breaks.
"""


def label(campaign: OpenedWithFiles, owner: Owner = None) -> None:
    """Label items one after another in the terminal.

    Items that the labeller already has come first. Keys 1 to 9 and 0 pick a class, ? shows all
    keys, q stops. Each label is stored at once. Through a pipe, each line is a key, a class or a
    number.
    """
    if not owner:
        raise click.UsageError(
            "Say who labels, so that nobody else gets your items: --owner NAME, or the variable "
            "LEVELLED_OWNER."
        )
    with open_screen() as screen:
        session = _Session(campaign, owner, screen)
        with session.renewing(), suppress(KeyboardInterrupt):  # as good as q: labels are stored
            session.run()
    session.give_back()
    show.tell(session.summary())
    campaign.keep()


@dataclass(frozen=True, slots=True)
class _Draft:
    """The answers to an item as far as they are given; `step` is the question that is open."""

    ask: "Ask"
    note: str | None = None
    answers: dict[str, Any] = field(default_factory=dict)
    step: int = 0


class _Session:
    """One sitting of a labeller."""

    def __init__(self, campaign: "Campaign", owner: str, screen: Screen) -> None:
        self._campaign = campaign
        self._owner = owner
        self._screen = screen
        self._questions = campaign.questions
        self._away = campaign.settings.away_seconds
        self._open: set[int] = set()
        """The draws that this sitting has asked for and not answered."""
        self._n_told = self._n_late = 0
        self._message = ""
        self._why_ended = ""
        self._commands: dict[Key | str, Callable[[_Draft], _Draft | None]] = {
            "s": self._skip,
            "x": self._give_up,
            **dict.fromkeys(("u", Key.BACKSPACE), self._back),
            "f": self._write_note,
            "g": lambda draft: self._show_text(
                draft, "Guidelines", campaign.settings.guidelines or "There are no guidelines."
            ),
            "?": lambda draft: self._show_text(draft, "Keys", _HELP),
            **dict.fromkeys(("t", Key.ENTER), self._type),
            **dict.fromkeys(("q", Key.END_OF_INPUT), self._stop),
        }
        self._stopped = False

    def run(self) -> None:
        """Show items until there are none, or the labeller stops."""
        draft: _Draft | None = None
        while not self._stopped:
            if draft is None:
                asks = self._campaign.ask(1, owner=self._owner, lease_seconds=self._away)
                if not asks:
                    self._why_ended = f": {self._campaign.note}"
                    return
                draft = _Draft(asks[0])
            self._open.add(draft.ask.draw)
            further = self._take_step(draft)
            if further is None:
                self._open.discard(draft.ask.draw)
            draft = further

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Keep the item for the labeller meanwhile, from another thread: reading a key blocks."""
        ended, sibling = threading.Event(), self._campaign.sibling()

        def renew() -> None:
            while not ended.wait(self._away / _RENEWALS):
                with suppress(LevelledError):  # whoever takes the next step is told
                    sibling.renew([*self._open], owner=self._owner, lease_seconds=self._away)

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def give_back(self) -> None:
        """End the lease of the open item, unless somebody else has it by now."""
        if self._open:
            with suppress(LevelledError):
                self._campaign.give_back(owner=self._owner, draws=self._open)
                self._why_ended = self._why_ended or "; the open item is given back"

    def summary(self) -> str:
        """What was stored, and why there is nothing more to do."""
        stored = "1 label" if self._n_told == 1 else f"{self._n_told} labels"
        late = f" ({self._n_late} late, as second opinions)" if self._n_late else ""
        return f"{stored} stored{late}; {self._progress()}{self._why_ended}"

    def _take_step(self, draft: _Draft) -> _Draft | None:
        """The draft after one more key; None once the item is done with."""
        question = self._questions[draft.step]
        self._screen.show(self._page(draft, question))
        self._message = ""
        try:
            if draft.step and not _keys_of(question):
                return self._type(draft)
            key = self._screen.read()
            if key in self._commands:
                return self._commands[key](draft)
            return self._answer_by_key(draft, question, key)
        except LevelledError as refused:
            self._message = str(refused)
            return draft

    def _page(self, draft: _Draft, question: "Question") -> Page:
        from levelled.campaigns.people.shown import fields_of

        fields = fields_of(self._campaign.settings, draft.ask.data)
        name, owner = show.plain(self._campaign.name, 40), show.plain(self._owner, 20)
        title = f"{name} · {owner} · {self._progress()} · item {draft.ask.draw}"
        note = "" if draft.note is None else f"note: {show.plain(draft.note)}"
        message = "\n".join(filter(None, (note, show.plain(self._message, 1000))))
        prompt = _describe(question, is_first=draft.step == 0)
        return Page(title, lambda width: render_fields(fields, width), prompt, _KEYS, message)

    def _progress(self) -> str:
        state = self._campaign.state
        budget = state.settings.budget
        of = "" if budget is None else f" of {min(budget, state.settings.pool_size)}"
        return f"{len(state.answers)}{of} labels"

    def _answer_by_key(self, draft: _Draft, question: "Question", key: Key | str) -> _Draft | None:
        keys = _keys_of(question)
        if not isinstance(key, str):
            return draft
        if key in keys:
            return self._answer(draft, keys[key])
        if self._screen.whole_lines:
            return self._answer(draft, key)
        if not keys and question.kind == "number":
            return self._type(draft, key)
        self._message = f"{key} picks nothing here; ? shows all keys"
        return draft

    def _answer(self, draft: _Draft, answer: object) -> _Draft | None:
        """Take an answer to the open question; after the last one, store them all."""
        question = self._questions[draft.step]
        if draft.step and answer is not None:
            answer = question.check(answer)
        answers = {**draft.answers, question.name: answer}
        if draft.step + 1 < len(self._questions):
            return replace(draft, answers=answers, step=draft.step + 1)
        return self._store(replace(draft, answers=answers))

    def _store(self, draft: _Draft) -> _Draft | None:
        rubric = {one: value for one, value in draft.answers.items() if one != "label"}
        told = {"draw": draft.ask.draw, "label": draft.answers["label"]}
        try:
            self._campaign.tell_all(
                [{**told, "note": draft.note, "rubric": rubric or None}], owner=self._owner
            )
        except LevelledError as refused:
            self._message = str(refused)
            return replace(draft, step=0)
        self._n_told += 1
        self._n_late += len(self._campaign.second_opinions)
        self._message = self._campaign.note or ""
        return None

    def _type(self, draft: _Draft, start: str = "") -> _Draft | None:
        """Let the labeller type an answer; without one, a further question is passed over."""
        question = self._questions[draft.step]
        if draft.step and _keys_of(question):
            return self._answer(draft, None)
        text = self._screen.ask(_describe(question, is_first=draft.step == 0), start)
        if text is None:
            return replace(draft, step=max(draft.step - 1, 0))
        if not text.strip():
            return self._answer(draft, None) if draft.step else draft
        return self._answer(draft, text.strip())

    def _skip(self, draft: _Draft) -> _Draft | None:
        reason = self._screen.ask("Skip: why? (may be empty)")
        if reason is None:
            return draft
        self._campaign.skip(draft.ask.draw, reason=reason, owner=self._owner)
        self._message = f"item {draft.ask.draw} goes to another labeller"
        return None

    def _give_up(self, draft: _Draft) -> _Draft | None:
        reason = self._screen.ask("Cannot be labelled by anybody: why?")
        if not reason:
            return draft
        self._campaign.mark_unlabelable(draft.ask.draw, reason=reason, owner=self._owner)
        return None

    def _back(self, draft: _Draft) -> _Draft | None:
        """Go back one question, or withdraw the last label and show its item again."""
        from levelled.campaigns import Ask
        from levelled.campaigns.people.shown import shown_data

        if draft.step:
            return replace(draft, step=draft.step - 1)
        answers = self._campaign.state.answers
        draw = self._campaign.undo(owner=self._owner, lease_seconds=self._away)
        state = self._campaign.state
        if draw not in state.open_draws():
            self._message = f"item {draw} is as it was before"
            return draft
        self._n_told = max(self._n_told - 1, 0)
        self._message = f"the label of item {draw} is withdrawn"
        item = state.draws[draw - 1]
        shown = shown_data(state.settings, item)
        again = Ask(draw, item.id, shown, state.leases[draw].until)
        return _Draft(again, answers[draw].note if draw in answers else None)

    def _write_note(self, draft: _Draft) -> _Draft:
        note = self._screen.ask("Note:", draft.note or "")
        return draft if note is None else replace(draft, note=note or None)

    def _show_text(self, draft: _Draft, title: str, markdown: str) -> _Draft:
        page = Page(title, lambda _: [render_markdown(markdown)], "", "any key: back")
        self._screen.show(page)
        if not self._screen.whole_lines:
            self._screen.read()
        return draft

    def _stop(self, draft: _Draft) -> _Draft:
        self._stopped = True
        return draft


def _keys_of(question: "Question") -> dict[str, Any]:
    """The answer that each digit stands for; a digit that is an answer stands for itself."""
    answers: list[Any] = [*question.classes]
    if question.kind == "rating":
        answers = [*range(int(question.low or 0), int(question.high or 0) + 1)]
        if answers[0] < 0 or answers[-1] > 9 + (answers[0] == 1):
            return {}
    names = [str(one) for one in answers]
    if names and all(len(one) == 1 and one.isdigit() for one in names):
        return dict(zip(names, answers, strict=True))
    return dict(zip("1234567890", answers, strict=False))


def _describe(question: "Question", *, is_first: bool) -> str:
    """A question in a line, with the keys that answer it."""
    name, keys = show.plain(question.name, 40), _keys_of(question)
    if question.kind == "number" or (question.kind == "rating" and not keys):
        limits = "" if question.low is None else f" from {question.low:g} to {question.high:g}"
        return f"{name}: a number{limits}?"
    if question.kind == "text":
        return f"{name}?"
    shown = [
        f"[{key}]" if key == str(answer) else f"[{key}] {show.plain(answer, 40)}"
        for key, answer in keys.items()
    ]
    rest = [show.plain(one, 40) for one in question.classes[len(keys) :]]
    if rest or question.more:
        shown.append(f"[t] type{' ' + ', '.join(rest) if rest else ' another'}")
    return "  ".join([f"{name}?", *shown, *([] if is_first else ["[Enter] pass over"])])


_ROLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}
_SIDE_BY_SIDE = 100
"""Columns of a terminal from which on a pair is shown side by side."""


def render_fields(fields: "Sequence[ShownField]", width: int) -> "list[RenderableType]":
    """The fields of an item; one alone needs no heading, and short facts share a table."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    facts = [one for one in fields if one.kind == "number"]
    pair = [one for one in fields if one.name in ("left", "right")]
    texts = [one for one in fields if one not in facts]
    shown: list[RenderableType] = []
    if facts:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for one in facts:
            table.add_row(Text(show.plain(one.name, 40), style="bold"), Text(_plain(one.value)))
        shown.append(table)
    sides = len(pair) == 2 and width >= _SIDE_BY_SIDE
    for one in texts:
        if not (sides and one in pair):
            heading = [Text(show.plain(one.name, 80), style="bold")] if len(fields) > 1 else []
            shown += [*heading, *_content(one.kind, one.value), Text("")]
    if sides:
        table = Table(expand=True, padding=(0, 1))
        for one in pair:
            table.add_column(one.name, ratio=1, overflow="fold")
        table.add_row(*(Group(*_content(one.kind, one.value)) for one in pair))
        shown.append(table)
    return shown


def render_markdown(text: str) -> "RenderableType":
    """Markdown with the addresses of its links in view."""
    from rich.markdown import Markdown

    return Markdown(_plain(text), hyperlinks=False)


def _plain(text: object) -> str:
    """Text from outside with its line ends, and control characters escaped."""
    lines = ("" if text is None else str(text)).expandtabs(4).splitlines()
    return "\n".join(show.plain(line, LONGEST) for line in lines)


def _content(kind: str, value: Any) -> "list[RenderableType]":  # noqa: ANN401
    from rich.text import Text

    if kind == "chat":
        return [part for message in value for part in _message(message)]
    if kind == "markdown":
        return [render_markdown(value)]
    if kind == "json":
        return [Text(_plain(json.dumps(value, indent=2, ensure_ascii=False)))]
    if kind == "image":
        data, path = value.startswith("data:"), show.plain(value)
        size = f"[image of {len(value) * 3 // 4 // 1000 + 1} kB, not shown in a terminal]"
        return [Text(size if data else f"[image: {path}]", style="italic")]
    return [Text(_plain(value))]


def _message(message: dict[str, Any]) -> "list[RenderableType]":
    """A message of a chat: its role, what was said, and the tools that were called."""
    from rich.text import Text

    from levelled.sources import shown_fields

    role = show.plain(message["role"], 40)
    shown: list[RenderableType] = [Text(role, style=f"bold {_ROLES.get(role, 'blue')}")]
    if message["content"] not in ("", None):
        (content,) = shown_fields({"content": message["content"]})
        shown += _content(content.kind, content.value)
    for call in message.get("tool_calls") or ():
        shown.append(Text(f"calls {_plain(json.dumps(call, ensure_ascii=False))}", style="yellow"))
    return [*shown, Text("")]
