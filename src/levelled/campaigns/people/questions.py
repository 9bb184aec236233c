"""Questions that labellers answer beside the label, and the notes they write: a rubric.

    tone=rude,neutral,kind     one of these classes
    clarity=1:5                a rating, a whole number from 1 to 5
    price=number               any number
    why=text                   free text

No metric uses these answers. They are kept beside the label, and exported with it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from levelled.errors import CampaignError, InputError
from levelled.labels import Label, as_numbers, class_text, list_names

LONGEST_TEXT = 10_000
"""Characters of a note, or of an answer in free text."""
_LONGEST_NAME = 40
_MOST_QUESTIONS = 50
_RATING = re.compile(r"(-?\d{1,6}):(-?\d{1,6})")
_TAKEN = (
    *("draw", "row", "id", "label", "answer", "note", "rubric", "data", "where", "lease_until"),
    *("probability", "labelled_by", "labelled_at", "unlabelable", "sample_weight", "shown_left"),
)
"""Names of columns of exports and of files of answers."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a labeller: its name, and the answers that it takes.

    `kind` is "classes", "rating", "number" or "text". `low` and `high` are those of a rating,
    and of a number that has limits. Where `more` is true, other classes may be answered too.
    """

    name: str
    kind: str
    classes: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    more: bool = False

    @property
    def notation(self) -> str:
        """The question as `parse_question` reads it."""
        if self.kind == "classes":
            return f"{self.name}={','.join(self.classes)}"
        if self.kind == "rating":
            return f"{self.name}={self.low:.0f}:{self.high:.0f}"
        return f"{self.name}={self.kind}"

    def check(self, answer: object) -> Label:
        """The answer as it is kept; refuses one that is none."""
        if self.kind == "text":
            return _check_length(f"The answer to {self.name!r}", str(answer))
        try:
            if self.kind == "classes":
                return self._check_class(class_text(answer))
            (number,) = as_numbers(f"The answer to {self.name!r}", [answer]).tolist()
        except InputError as wrong:
            raise CampaignError(str(wrong)) from wrong
        if self.kind == "number":
            return float(number)
        return self._check_rating(number)

    def _check_class(self, name: str) -> str:
        if name not in self.classes:
            raise CampaignError(
                f"{name!r:.80} is no answer to {self.name!r}: it takes "
                f"{list_names(self.classes, 12)}."
            )
        return name

    def _check_rating(self, number: float) -> int:
        low, high = self.low or 0, self.high or 0
        if not low <= number <= high or number != int(number):
            raise CampaignError(
                f"{number:g} is no answer to {self.name!r}: it takes a whole number from {low:g} "
                f"to {high:g}."
            )
        return int(number)


def parse_question(text: str) -> Question:
    """The question that a text such as clarity=1:5 declares.

    >>> parse_question("tone=rude,kind").classes, parse_question("clarity=1:5").high
    (('rude', 'kind'), 5.0)
    """
    name, sign, takes = (part.strip() for part in str(text).partition("="))
    if not sign or not name or not takes:
        raise _malformed(text)
    if name in _TAKEN or name.startswith(("pred@", "slice.", "data.")) or name == "pred":
        raise CampaignError(
            f"A question cannot be called {name!r}, because exports have a column of that name: "
            f"choose another."
        )
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise CampaignError(
            f"{name!r:.80} is no name for a question: up to {_LONGEST_NAME} printable characters."
        )
    if takes in ("number", "text"):
        return Question(name, takes)
    if rating := _RATING.fullmatch(takes):
        low, high = map(float, rating.groups())
        if low >= high:
            raise CampaignError(f"The rating {text!r} must go from a lower to a higher number.")
        return Question(name, "rating", low=low, high=high)
    classes = tuple(class_text(one.strip()) for one in takes.split(","))
    if len(classes) < 2 or len({*classes}) < len(classes) or not all(classes):
        raise _malformed(text)
    return Question(name, "classes", classes)


def _malformed(text: object) -> CampaignError:
    return CampaignError(
        f"{text!r:.200} is no question: write its name and what it takes, as in "
        f"tone=rude,neutral,kind or clarity=1:5 or price=number or why=text."
    )


def check_questions(texts: Sequence[str]) -> tuple[Question, ...]:
    """The questions of a campaign, each declared by a text."""
    if isinstance(texts, str):
        texts = [texts]
    questions = tuple(parse_question(text) for text in texts)
    names = [one.name for one in questions]
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise CampaignError(f"The question {twice[0]!r} is declared twice.")
    if len(names) > _MOST_QUESTIONS:
        raise CampaignError(f"{len(names)} questions are too many: at most {_MOST_QUESTIONS}.")
    return questions


def check_remarks(
    questions: Sequence[Question], note: object = None, rubric: object = None
) -> dict[str, Any]:
    """The note and the rubric of an answer as they are kept, without those that are not given.

    In a rubric, None stands for an answer that is taken away.
    """
    remarks: dict[str, Any] = {}
    if note is not None:
        if not isinstance(note, str):
            raise CampaignError(f"A note is text; {note!r:.80} is none.")
        remarks["note"] = _check_length("A note", note)
    if rubric is not None:
        remarks["rubric"] = _check_rubric({one.name: one for one in questions}, rubric)
    return remarks


def _check_rubric(questions: Mapping[str, Question], rubric: object) -> dict[str, Label | None]:
    if not isinstance(rubric, Mapping):
        raise CampaignError(
            f"A rubric has an answer for each question, by its name; {rubric!r:.80} has not."
        )
    unknown = [name for name in rubric if name not in questions]
    if unknown:
        asked = list_names([*questions], 12)
        raise CampaignError(
            f"There is no question {unknown[0]!r:.80}: the campaign asks "
            f"{asked if questions else 'none but the label'}."
        )
    return {
        name: None if value is None or value == "" else questions[name].check(value)
        for name, value in rubric.items()
    }


def merge_remarks(
    note: str | None, rubric: Mapping[str, Label], new: Mapping[str, Any]
) -> dict[str, Any]:
    """The remarks of an answer after new ones: what is not given again stays as it was.

    >>> merge_remarks("why?", {"tone": "rude"}, {"rubric": {"tone": None, "clarity": 2}})
    {'note': 'why?', 'rubric': {'clarity': 2}}
    """
    merged: dict[str, Any] = {}
    if text := new.get("note", note):
        merged["note"] = text
    answers = {**rubric, **new.get("rubric", {})}
    if answers := {name: value for name, value in answers.items() if value is not None}:
        merged["rubric"] = answers
    return merged


def _check_length(name: str, text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise CampaignError(
            f"{name} has {len(text):,} characters, and at most {LONGEST_TEXT:,} are kept: shorten "
            f"it."
        )
    return text
