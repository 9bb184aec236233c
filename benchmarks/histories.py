"""Histories: what labellers were told by a campaign, compared with what is in its log afterwards.

A labeller writes each step down, in a file of its own: before it tells a label, once the label is
acknowledged, and when a step is refused. `check_history` compares these files with the log,
whatever happened to processes, disks, servers and connections in between.
"""

import json
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from levelled.campaigns.log.records import StoredEvent, verify
from levelled.campaigns.stores import open_store

__all__ = ["Outcome", "Step", "Witness", "check_history", "read_steps"]

Step = tuple[str, str, int, str]
"""What happened ("asked", "telling", "told", "refused"), to whom, the draw, the label or reason."""


class Witness:
    """A labeller's own account of its steps, which a kill does not take away."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._path = folder / f"{name}.jsonl"

    def write(self, what: str, draw: int, text: str) -> None:
        line = f"{json.dumps([what, self.name, draw, text])}\n".encode()
        with self._path.open("ab", buffering=0) as file:
            file.write(line)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Write an error that is no refusal down for the check."""
        try:
            yield
        except Exception:
            self._path.with_suffix(".error").write_text(traceback.format_exc())
            raise


def read_steps(folder: Path) -> Iterator[Step]:
    """All steps in the accounts of a folder; a line that a kill has cut is none."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                what, name, draw, text = json.loads(line)
                yield what, name, draw, text


@dataclass(frozen=True)
class Outcome:
    """What a history and a log have in common, and what they have not."""

    n_events: int
    acknowledged: int
    lost: list[str]
    doubled: list[str]
    invented: list[str]
    """Labels in the log that nobody told."""
    refused: int
    broken: list[str]
    """Breaks of the chain, errors that are no refusal, refusals of more than a line."""

    @property
    def is_sound(self) -> bool:
        return not (self.lost or self.doubled or self.invented or self.broken)

    def complaints(self) -> str:
        parts = [*self.broken, *self.lost, *self.doubled, *self.invented]
        return "\n".join(parts[:20])


def check_history(storage: str, campaign: str, folder: Path) -> Outcome:
    """Compare the accounts in a folder with the log of a campaign."""
    with open_store(storage, create=False) as store:
        events = store.events(campaign)
    return compare(events, [*read_steps(folder)], [*folder.glob("*.error")])


def compare(events: list[StoredEvent], steps: list[Step], errors: list[Path]) -> Outcome:
    stored = Counter[tuple[str, int, str]]()
    leased = set[tuple[str, int]]()
    for event in (one.event for one in events):
        if event["type"] == "leased":
            leased.update((event["by"], draw) for draw in event["draws"])
        elif event["type"] in ("answered", "amended"):
            stored[event["by"], event["draw"], event["label"]] += 1
    told = {(name, draw, label) for what, name, draw, label in steps if what == "told"}
    telling = {(name, draw, label) for what, name, draw, label in steps if what == "telling"}
    asked = {(name, draw) for what, name, draw, _ in steps if what == "asked"}
    reasons = [text for what, _, _, text in steps if what == "refused"]
    witnesses = {name for _, name, _, _ in steps}
    labels_of = Counter((name, draw) for name, draw, _ in stored.elements())
    broken = [path.read_text() for path in errors]
    if (where := verify(events)) is not None:
        broken.append(f"the chain is broken at event {where.seq}: {where.because}")
    broken += [f"a refusal of several lines: {text!r}" for text in reasons if "\n" in text]
    return Outcome(
        n_events=len(events),
        acknowledged=len(told),
        lost=[f"told and lost: {one}" for one in told if not stored[one]]
        + [f"asked and lost: {one}" for one in asked - leased],
        doubled=[f"stored {n} times: {one}" for one, n in labels_of.items() if n > 1],
        invented=[
            f"never told: {one}" for one in stored if one[0] in witnesses and one not in telling
        ],
        refused=len(reasons),
        broken=broken,
    )
