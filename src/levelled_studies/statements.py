"""The list of what the paper says, with the place of each item in this project.

    python -m levelled_studies.statements docs     # writes docs/paper/coverage.md

The items stand in statements.toml, in our own words. Every place that they name is looked up, so
that an item cannot name a test, a function, a study, a claim or a plot that is not there.
"""

import ast
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from levelled_studies import NAMES
from levelled_studies.study import StudyError
from levelled_studies.theorems import THEOREMS, WORDING

__all__ = ["Item", "Section", "missing", "page", "sections", "write"]

_INTRODUCTION = """\
# What the paper says, item by item

This page lists {total} statements, definitions, equations, figures, tables and settings of *On
Statistical Bias in Active Learning: How and When to Fix It* (Farquhar, Gal and Rainforth, ICLR
2021, arXiv:2101.11665v2), in our own words and in its order, each with its place in this project.

**Right** ({right}): the item is built, computed or tested as the paper has it. **Partly**
({partly}): with the reason. No item is missing. The status is about the place of an item here, not
about its truth: the [ledger](claims.md) says which claims hold.

The page is made from `src/levelled_studies/statements.toml` by
`python -m levelled_studies.statements docs`, which refuses places that are not there."""
_HEADER = ("no.", "where", "what it says", "in the project", "status")


@dataclass(frozen=True, slots=True)
class Item:
    """One statement of the paper: where it stands, its places here, and how far it is covered."""

    where: str
    says: str
    places: tuple[str, ...]
    status: str

    def __post_init__(self) -> None:
        word, _, reason = self.status.partition(": ")
        if word not in ("right", "partly") or (word == "partly") != bool(reason):
            raise StudyError(
                f"The status of an item is 'right', or 'partly: ' with a reason; that of "
                f"{self.says!r} is {self.status!r}."
            )
        if not self.places:
            raise StudyError(f"The item {self.says!r} names no place in the project.")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the paper."""

    title: str
    items: tuple[Item, ...]


@cache
def sections() -> tuple[Section, ...]:
    """The items by the parts of the paper.

    >>> sections()[0].items[0].where
    'abstract'
    """
    text = resources.files("levelled_studies").joinpath("statements.toml").read_text("utf-8")
    return tuple(
        Section(
            part["title"],
            tuple(
                Item(where, says, tuple(places), status)
                for where, says, places, status in part["items"]
            ),
        )
        for part in tomllib.loads(text)["section"]
    )


def missing(root: Path, items: Sequence[Item]) -> list[str]:
    """The places that these items name and that are not in the project at `root`."""
    places = dict.fromkeys(place for item in items for place in item.places)
    return [place for place in places if not _is_there(root, place)]


def _is_there(root: Path, place: str) -> bool:
    kind, _, name = place.partition(" ")
    if kind == "theorem":
        return name in {theorem.name for theorem in THEOREMS}
    if kind == "note":
        return name in {where for where, _ in WORDING}
    if kind == "study":
        return name in NAMES
    if kind == "claim":
        return name.rpartition("/")[2] in _claims(root, name.rpartition("/")[0])
    if kind == "figure":
        return (root / "docs/results" / name).is_file()
    path, _, symbol = place.partition("::") if "::" in place else place.partition(":")
    return symbol in _symbols(root / _file(root, path)) if symbol else (root / path).is_file()


def _claims(root: Path, folder: str) -> set[str]:
    path = root / "docs/results" / folder / "claims.json"
    return {claim["name"] for claim in json.loads(path.read_text())} if path.is_file() else set()


def _file(root: Path, path: str) -> str:
    """The file of a test, which is given as it is, or of a module."""
    if path.endswith(".py"):
        return path
    folder = "src/" + path.replace(".", "/")
    return f"{folder}/__init__.py" if (root / folder).is_dir() else f"{folder}.py"


@cache
def _symbols(path: Path) -> frozenset[str]:
    """The names that a file defines at its top level."""
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {each.id for each in targets if isinstance(each, ast.Name)}
    return frozenset(names)


def page(root: Path) -> str:
    """The list as Markdown, for docs/paper of the project at `root`."""
    items = [item for section in sections() for item in section.items]
    if absent := missing(root, items):
        raise StudyError(f"statements.toml names what is not there: {', '.join(absent)}.")
    right = sum(item.status == "right" for item in items)
    counts = {"total": len(items), "right": right, "partly": len(items) - right}
    return "\n\n".join([_INTRODUCTION.format(**counts), *_tables(root)]) + "\n"


def _tables(root: Path) -> Iterator[str]:
    number = 0
    for section in sections():
        rows = [_HEADER, ("---",) * len(_HEADER)]
        for item in section.items:
            number += 1
            places = "<br>".join(_link(root, place) for place in item.places)
            rows.append((str(number), item.where, item.says, places, item.status))
        lines = (
            f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |" for row in rows
        )
        yield f"## {section.title}\n\n" + "\n".join(lines)


def _link(root: Path, place: str) -> str:
    kind, _, name = place.partition(" ")
    if kind in ("theorem", "note"):
        return f"[{'note on ' if kind == 'note' else ''}{name}](claims.md)"
    if kind == "study":
        return f"`levelled reproduce {name}`"
    if kind == "claim":
        folder, _, claim = name.rpartition("/")
        return f"[claim {claim}](../results/{folder}/claims.json)"
    if kind == "figure":
        return f"[plot](../results/{name})"
    path, _, symbol = place.partition("::") if "::" in place else place.partition(":")
    if not symbol:
        page = path.removeprefix("docs/")
        return f"[{page}]({'../' if page != path else '../../'}{page})"
    return f"[{symbol}](../../{_file(root, path)})"


def write(docs: Path) -> Path:
    """Write docs/paper/coverage.md."""
    target = docs / "paper" / "coverage.md"
    target.write_text(page(docs.absolute().parent))
    return target


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
