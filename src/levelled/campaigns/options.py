"""The options of a campaign, each declared once with its type, default, limits, help and group.

A new option is a field of `CampaignOptions`. The arguments of `create_campaign` with their
description, the command `create`, `change` if it is `changeable`, the request and the form of the
web page, the settings in the log with their checks, `status` and the reference are made from it.

This module imports nothing heavy: the command line reads it whenever it starts.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from textwrap import wrap
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

DEFAULT_STORAGE = "sqlite:///levelled.db"
"""The storage used where none is named: a file in the current folder."""

KINDS = ("adaptive", "static", "uniform")
"""The ways to draw items."""

_YEAR = 366 * 24 * 3600
GROUPS = ("Budget and intervals", "Draws", "Columns", "Labelling")
"""The groups in which commands, page and reference show the options."""


@dataclass(frozen=True, slots=True)
class Option:
    """All that surfaces know of an option. Its name, type and default are those of its field."""

    help: str
    group: str = ""
    """One of `GROUPS`; an argument without one is for Python alone."""
    least: float | None = None
    most: float | None = None
    inside: bool = False
    """True if the value must be strictly between the least and the most."""
    choices: tuple[str, ...] = ()
    """The words that it may be."""
    stand_in: str = ""
    """What the default means, where it is none of the choices but stands for one of them."""
    longest: int = 1000
    """The most characters, or entries of a list, that a request to the web page may have."""
    changeable: bool = False
    only_static: bool = False
    """True if it says how items of a static campaign are weighted."""
    quiet: bool = False
    """True if the table of `status` leaves the default out."""
    on_page: bool = True
    """False if it names a file: nobody who has a token may read any file of the server."""
    comes_first: bool = False
    """True if the form shows it at once, not only among further options."""
    flag: str = ""
    """The flag of the command, where it is not the name of the argument."""
    repeated: bool = False
    """True if the command takes a list by repeating the flag, not with commas."""
    metavar: str | None = None
    in_file: bool = False
    """True if the command takes a file that holds the text."""
    name: str = ""
    annotation: Any = None
    default: Any = inspect.Parameter.empty

    @property
    def optional(self) -> bool:
        """True if it may be None."""
        return NoneType in get_args(self.annotation)

    @property
    def kind(self) -> type:
        """The type but for None: int, float, str, bool, list, dict, or Path for a file."""
        first = get_args(self.annotation)[0] if self.optional else self.annotation
        if any(get_origin(one) is PathLike for one in get_args(self.annotation)):
            return Path
        return {Sequence: list, Mapping: dict}.get(get_origin(first), first)

    @property
    def about(self) -> str:
        """The help for a new campaign."""
        return f"{self.help} {self.stand_in}".rstrip()

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it may be in a new campaign."""
        return tuple(dict.fromkeys((self.default, *self.choices))) if self.choices else ()

    @property
    def takes(self) -> str:
        """The words or the type of its values, for readers."""
        if self.choices:
            return "{" + ", ".join(f'"{word}"' for word in self.words) + "}"
        return re.sub(r"\b(\w+\.)+", "", inspect.formatannotation(self.annotation))


_goal, _draws, _columns, _labelling = (partial(Option, group=group) for group in GROUPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """The options that the log keeps as they are given, in the order in which `status` has them."""

    kind: Annotated[
        str,
        _draws(
            "Way to draw: adaptive learns from the labels which items are likely to be wrong, "
            "static draws by weights fixed beforehand, uniform at random.",
            choices=KINDS,
            stand_in="auto is static with a score, proposal or floor, else adaptive if the pool "
            "has something to learn from.",
            changeable=True,
        ),
    ] = "auto"
    budget: Annotated[
        int | None, _goal("The most labels to ask for.", least=1, changeable=True, comes_first=True)
    ] = None
    target_width: Annotated[
        float | None,
        _goal(
            "How narrow the first metric's interval should become.",
            least=0,
            inside=True,
            changeable=True,
        ),
    ] = None
    level: Annotated[
        float, _goal("Confidence level of the intervals.", least=0, most=1, inside=True)
    ] = 0.95
    may_extend: Annotated[
        bool,
        _goal(
            "Keep a fifth of the error rate for budgets that are raised later: the interval at the "
            "budget is 4% wider, those after a raise 15% narrower.",
            quiet=True,
        ),
    ] = False
    seed: Annotated[
        int, _draws("Seed of the draws; commands and page choose one if not given.", least=0)
    ]
    in_flight: Annotated[
        int,
        _labelling("The most items that may wait for a label at once.", least=1, changeable=True),
    ] = 200
    lease_seconds: Annotated[
        int,
        _labelling(
            "How long an item is kept for its labeller.", least=1, most=_YEAR, changeable=True
        ),
    ] = 24 * 3600
    away_seconds: Annotated[
        int,
        _labelling(
            "How long an item on a page or in a terminal is kept for a labeller who is not seen.",
            least=1,
            most=_YEAR,
            changeable=True,
        ),
    ] = 2 * 60  # as long as a labeller may be offline or elsewhere before the others go on
    score: Annotated[
        str,
        _draws(
            "Static: interest of an item: auto, entropy, margin, ... or uniform.", only_static=True
        ),
    ] = "auto"
    proposal: Annotated[
        str,
        _draws("Static: proportional, boltzmann:B, power:A, rank:A or uniform.", only_static=True),
    ] = "proportional"
    floor: Annotated[
        float,
        _draws("Static: the share of draws made uniformly.", least=0, most=1, only_static=True),
    ] = 0.5  # the studies intervals and looks are with it; weights are then at most about 2
    guarantee: Annotated[
        str,
        _goal(
            "With finite, the interval has a finite-sample proof, is aimed at the budget, and is "
            "wider; no looks are planned.",
            choices=("asymptotic", "finite"),
            quiet=True,
        ),
    ] = "asymptotic"
    drive: Annotated[
        str,
        _draws(
            "Metrics that adaptive draws serve: first, balanced for all of every model, or names "
            "with commas between them.",
            quiet=True,
        ),
    ] = "first"
    normalise: Annotated[
        bool, _labelling("Ignore capitals, and blanks at the ends, of labels.", quiet=True)
    ] = False
    anchor: Annotated[
        str,
        _labelling(
            "File to which the last hash is appended after each step; a log that lacks one of "
            "these hashes is refused.",
            changeable=True,
            quiet=True,
            on_page=False,
            metavar="FILE",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class NewCampaign(CampaignOptions):
    """The arguments of `create_campaign`: further ones are kept in another form, or not at all."""

    name: Annotated[str, Option("Name of the campaign.")]
    pool: Annotated[
        Any,
        Option(
            "File of predictions, list of files, pattern, folder, frame, output of another tool, "
            "or a pool of `open_pool`."
        ),
    ]
    metric: Annotated[
        str | Sequence[str],
        Option("Metric to estimate, or several; the first decides which items are drawn."),
    ] = "error"
    _: KW_ONLY
    storage: Annotated[str | Path, Option("Database of the campaigns.")] = DEFAULT_STORAGE
    looks: Annotated[
        int,
        _goal(
            "Readings planned over the budget, or over a number of labels that is chosen where "
            "there is none. With 1, one interval at the full level, and none before or after it; "
            "with 0 or none, every reading is by betting.",
            least=0,
            most=100,
            metavar="N|none",
        ),
    ] = 5
    features: Annotated[
        Sequence[str] | None,
        _draws(
            "Columns of numbers to learn losses from, or patterns such as 'f_*', or lengths of "
            "text such as length:output and length:second/first; by default a list column "
            "embedding or f_*, and beside nothing but verdicts the lengths of the longest texts.",
            repeated=True,
        ),
    ] = None
    known: Annotated[
        str | PathLike[str] | None,
        _draws(
            "A file of ids and labels that you have already, however the items were chosen: they "
            "count as they are, and the others are drawn.",
            on_page=False,
        ),
    ] = None
    known_column: Annotated[
        str | None, _draws("The column of the pool that holds such labels, empty elsewhere.")
    ] = None
    random_sample: Annotated[
        str | PathLike[str] | None,
        _draws(
            "A file of ids and labels of a random sample, which counts as the first draws; refused "
            "if it is none.",
            on_page=False,
        ),
    ] = None
    labelled: Annotated[
        str | PathLike[str] | None, _draws("Earlier name of random_sample.", on_page=False)
    ] = None
    slices: Annotated[
        Sequence[str],
        _columns(
            "Columns to report by.", longest=20, comes_first=True, flag="slice", repeated=True
        ),
    ] = ()
    classes: Annotated[
        Sequence[str] | None, _columns("The classes, where no columns name them.")
    ] = None
    open_classes: Annotated[
        bool, _columns("Take any label, not only the classes that are predicted or named.")
    ] = False
    model: Annotated[
        str, _columns("Name of the model in the columns pred or proba_<class>.", longest=100)
    ] = ""
    id_column: Annotated[str, _columns("Column of the ids.")] = "id"
    pred_column: Annotated[
        str | None, _columns("Column of the model's predictions, if it has another name.")
    ] = None
    judge_columns: Annotated[
        Sequence[str],
        _columns(
            "Columns of judges' verdicts; a judge has the name of its column.",
            longest=100,
            comes_first=True,
            flag="judge-column",
            repeated=True,
        ),
    ] = ()
    show: Annotated[
        Sequence[str] | None, _columns("Columns that labellers see, and no others.")
    ] = None
    hide: Annotated[Sequence[str], _columns("Columns that labellers do not see.")] = ()
    reader: Annotated[
        str | None,
        _columns("Tool that wrote the file, instead of recognising it, or plain: columns by name."),
    ] = None
    roles: Annotated[
        Mapping[str, str | Sequence[str]] | None,
        _columns(
            "Role of a column, where its name and content do not say it: id, prediction, judge, "
            "probability, confidence, score, loss_hat, feature, shown, hidden, slice, group, time.",
            flag="role",
            metavar="COLUMN=ROLE",
        ),
    ] = None
    questions: Annotated[
        Sequence[str],
        _labelling(
            "Questions beside the label: 'tone=rude,neutral,kind', 'clarity=1:5', 'price=number' "
            "or 'why=text'.",
            longest=50,
            comes_first=True,
            flag="question",
            repeated=True,
            metavar="NAME=ANSWERS",
        ),
    ] = ()
    guidelines: Annotated[
        str,
        _labelling(
            "Instructions for labellers, in Markdown.",
            longest=100_000,
            comes_first=True,
            in_file=True,
        ),
    ] = ""
    pair: Annotated[
        Sequence[str],
        _labelling(
            "Two columns to compare: shown side by side in random order; the label is the better "
            "one of them, or tie.",
            longest=2,
            metavar="A,B",
        ),
    ] = ()
    content: Annotated[
        Mapping[str, str] | None,
        _labelling(
            "How columns are shown: text, markdown, chat, json, image or number.",
            metavar="COLUMN=KIND",
        ),
    ] = None
    images: Annotated[
        str | PathLike[str] | None,
        _labelling("Folder with the images that columns name.", on_page=False),
    ] = None
    load_if_exists: Annotated[bool, Option("Load the campaign if there is one of this name.")] = (
        False
    )


def _declared(record: Callable[..., CampaignOptions]) -> Iterator[Option]:
    for one in inspect.signature(record).parameters.values():
        annotation, option = get_args(one.annotation)
        yield replace(option, name=one.name, annotation=annotation, default=one.default)


ARGUMENTS: Mapping[str, Option] = {one.name: one for one in _declared(NewCampaign)}
"""The arguments of `create_campaign`."""

OPTIONS: Mapping[str, Option] = {name: one for name, one in ARGUMENTS.items() if one.group}
"""Those that are options on every surface."""


def describe_arguments() -> str:
    """The `Parameters` section of the docstring of `create_campaign`."""
    lines = ["Parameters", "----------"]
    for one in ARGUMENTS.values():
        choices = f"{one.takes}. " if one.choices else ""  # the signature has the other types
        lines += wrap(f"{one.name} : {choices}{one.about}", 100, subsequent_indent="    ")
    return "\n".join(lines)
