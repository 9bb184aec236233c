"""Hashes that were noted elsewhere, by hand or in an anchor.

An anchor is a file to which the last hash of a campaign is appended after each step.

Whoever can write to the database can compute all hashes anew, and no check of the log alone finds
that. A file that they cannot write to has the hashes as they were. A line of it is

    25 6f0c...64 hexadecimal digits 2026-11-18T09:00:00+00:00 spam

that is: the number of events, the hash of the last of them, the time, and the campaign's name.
A file is of one campaign.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from errno import ENOSPC
from pathlib import Path
from typing import BinaryIO, NamedTuple

from levelled.errors import InputError, StorageError

_SHORTEST = 12
"""The least number of digits by which a hash may be named."""
_LINE = re.compile(r"(?P<n>[1-9][0-9]{0,9}) (?P<hash>[0-9a-f]{64}) \S+ [^\n]*")


class Anchored(NamedTuple):
    """A line of an anchor: the log had so many events, the last of them with this hash."""

    n_events: int
    hash: str


def anchor_place(path: str) -> str:
    """The full path of an anchor, as a campaign keeps it; empty for none."""
    if not path:
        return ""
    place = Path(path).expanduser().absolute()
    if not str(place).isprintable() or place.is_dir() or not place.parent.is_dir():
        raise InputError(
            f"{path!r:.200} is no file for an anchor: name a file in a folder that is there."
        )
    return str(place)


def find_hash(expect: str, hashes: Mapping[int, str]) -> int | None:
    """The place of the event whose hash somebody noted, or the first digits of it."""
    wanted = expect.strip().lower()
    if not re.fullmatch(f"[0-9a-f]{{{_SHORTEST},64}}", wanted):
        raise InputError(
            f"{expect!r:.80} is no hash to expect: give the 64 hexadecimal digits that levelled "
            f"status shows, or at least the first {_SHORTEST}."
        )
    return max((at for at, one in hashes.items() if one.startswith(wanted)), default=None)


def why_not_found(expect: str) -> str:
    """The difference of a log that has no event with a hash that was noted."""
    return (
        f"no event has the hash {expect.strip().lower()}: since it was noted, events were cut off "
        f"or the log was written anew"
    )


def open_anchor(path: str) -> BinaryIO:
    """The file of an anchor, to append to; it is made if it is not there."""
    return Path(path).open("ab", buffering=0)


def append_anchor(path: str, end: Anchored, campaign: str) -> None:
    """Append a line in one piece, so that several processes may do so at the same time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    line = f"{end.n_events} {end.hash} {now} {campaign}\n".encode()
    with open_anchor(path) as file:
        if file.write(line) != len(line):
            raise OSError(ENOSPC, "there is no space left for it")


def why_not_anchored(lines: Iterable[Anchored], hashes: Mapping[int, str], path: str) -> str | None:
    """The reason why a log, with the hashes of its events by their places, is not the anchored."""
    for line in lines:
        if hashes.get(line.n_events - 1) != line.hash:
            return (
                f"event {line.n_events - 1} has not the hash {line.hash[:12]} that is in the "
                f"anchor {path}: since then events were cut off or the log was written anew"
            )
    return None


class Anchor:
    """The lines of an anchor, each of which is read once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read = 0
        self._n_lines = 0

    def new_lines(self) -> list[Anchored]:
        """The lines that came since the last call; none as long as there is no file."""
        try:
            with Path(self.path).open("rb") as file:
                file.seek(self._read)
                text, _, _ = file.read().rpartition(b"\n")  # another process may be writing
        except FileNotFoundError:
            return []
        except OSError as failed:
            raise StorageError(
                f"The anchor {self.path} cannot be read ({failed.strerror}). Make it readable here."
            ) from failed
        if not text:
            return []
        lines = []
        for at, line in enumerate(text.decode(errors="replace").split("\n"), self._n_lines + 1):
            found = _LINE.fullmatch(line)
            if found is None:
                raise StorageError(
                    f"Line {at} of the anchor {self.path} is none: {line!r:.80}. Go back to a copy "
                    f"of the file, or remove what was added to it."
                )
            lines.append(Anchored(int(found["n"]), found["hash"]))
        self._read += len(text) + 1
        self._n_lines += len(lines)
        return lines
