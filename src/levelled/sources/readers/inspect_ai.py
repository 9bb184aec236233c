"""Logs of Inspect AI: `.eval`, a ZIP file with a member for each sample, and `.json`."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from levelled.errors import PoolError
from levelled.sources.readers.items import (
    Contents,
    Item,
    as_object,
    as_text,
    flatten,
    lines_of,
    message,
    objects,
    parse_json,
    tool_call,
)

_STORED, _DEFLATED, _ZSTD = 0, 8, 93  # methods of compression, by the specification of ZIP
_LOCAL = struct.Struct("<4s5H3L2H")
"""The header in front of a member; the last two numbers are the lengths of what follows it."""
_MOST_BYTES = 1 << 29
"""Bytes of the largest member: one sample with all its messages, many times over."""
_MOST_TIMES = 1000
"""A member of more than a megabyte may not shrink further than this when it is compressed.

Deflate cannot shrink data further than 1,032 times, and text of models shrinks 3 to 50 times.
"""


class Archive:
    """An open ZIP file: its members by their names."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path
        try:
            with zipfile.ZipFile(file) as archive:
                self.members = {one.filename: one for one in archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as wrong:
            raise PoolError(
                f"{path} is no whole ZIP file ({wrong}): it was cut off, or is still being "
                f"written. Copy or write it again."
            ) from wrong
        packed = sum(one.compress_size for one in self.members.values())
        if packed > path.stat().st_size:
            raise PoolError(
                f"The members of {path} take {packed:,} bytes, more than the file has: they share "
                f"them, as no log does. The file is damaged or made to fill the memory."
            )

    def read(self, member: str) -> bytes:
        """The content of a member; one that is damaged or far too large is refused."""
        about, where = self.members[member], f"{member} in {self._path}"
        size, packed = about.file_size, about.compress_size
        if size > _MOST_BYTES or (size > 1 << 20 and size > _MOST_TIMES * packed):
            raise PoolError(
                f"{where} claims to hold {size:,} bytes in {packed:,}, more than any sample needs: "
                f"the file is damaged or made to fill the memory."
            )
        try:
            # Not by zipfile, which unpacks zstd only from Python 3.14 on.
            self._file.seek(about.header_offset)
            *_, name_length, extra_length = _LOCAL.unpack(self._file.read(_LOCAL.size))
            self._file.seek(name_length + extra_length, 1)
            data = _unpack(self._file.read(packed), about.compress_type, size)
        except (OSError, zlib.error, struct.error) as wrong:
            raise PoolError(
                f"{where} is damaged: its data cannot be unpacked. Copy or write the file again."
            ) from wrong
        if data is None:
            raise PoolError(
                f"{where} is packed by method {about.compress_type}, which is not known: stored, "
                f"deflate and zstd are."
            )
        if len(data) != size or zlib.crc32(data) != about.CRC:
            raise PoolError(
                f"{where} is damaged: its content differs from the checksum. Copy or write the "
                f"file again."
            )
        return data


def _unpack(packed: bytes, method: int, size: int) -> bytes | None:
    """At most one byte more than the size that was announced; None for an unknown method."""
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if method == _ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            data: bytes = stream.read(size + 1)
            return data
    return None


_SAMPLE = re.compile(r"samples/.+\.json")
_START = ("header.json", "_journal/start.json")
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")
_GRADES = {"C": "pass", "I": "fail", "P": "partial", "N": "no answer"}
_VERSION = 2
"""The newest version of the log that is known."""


def is_archive(path: Path) -> bool:
    """True for a ZIP file with the members of a log."""
    with path.open("rb") as file:
        members = Archive(file, path).members
    return any(name in _START or _SAMPLE.fullmatch(name) for name in members)


def read_archive(path: Path) -> Contents:
    """The samples of a `.eval` file, one after the other."""
    with path.open("rb") as file:
        archive = Archive(file, path)
        start = next((name for name in _START if name in archive.members), None)
        if start is None:
            raise PoolError(f"{path} has no header.json: it is no whole log of Inspect.")
        header = parse_json(archive.read(start), f"{start} in {path}")
        names = filter(_SAMPLE.fullmatch, archive.members)
        samples = (parse_json(archive.read(name), f"{name} in {path}") for name in names)
        return _contents(header, samples, str(path))


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for the object of a `.json` log."""
    return not is_list and {"version", "eval"} <= {*sample} and isinstance(sample["eval"], dict)


def read(document: Mapping[str, Any], name: str) -> Contents:
    """The samples of a `.json` log."""
    samples = document.get("samples")
    return _contents(document, samples if isinstance(samples, list) else [], name)


def _check_version(header: object, name: object) -> None:
    about = as_object(header)
    version = about.get("version")
    if not isinstance(version, int) or not isinstance(about.get("eval"), Mapping):
        raise PoolError(f"{name} is no log of Inspect: it lacks a version or a description.")
    if version > _VERSION:
        raise PoolError(
            f"{name} is a log of version {version}, and versions up to {_VERSION} are known: "
            f"update Levelled, or write the log with an older Inspect."
        )


def _contents(header: Mapping[str, Any], samples: Iterator[Any] | list[Any], name: str) -> Contents:
    _check_version(header, name)
    about = header["eval"]
    epochs = as_object(about.get("config")).get("epochs")
    items: list[Item] = []
    edited: dict[str, int] = {}
    n_failed = 0
    for sample in samples:
        if not isinstance(sample, Mapping) or not {"id", "epoch"} <= {*sample}:
            raise PoolError(f"Sample {len(items) + 1} of {name} has no id and epoch.")
        n_failed += sample.get("error") is not None
        items.append(_item(sample, repeated=epochs not in (None, 1), edited=edited))
    if not items:
        raise PoolError(f"{name} holds no samples: run Inspect with log_samples, which is usual.")
    notes = _notes(header.get("status", "success"), len(items), n_failed, edited)
    task, model = as_text(about.get("task")), as_text(about.get("model"))
    return Contents(_with_grades(items), f"task {task}, model {model}", notes)


def _notes(status: object, n: int, n_failed: int, edited: Mapping[str, int]) -> tuple[str, ...]:
    notes = [
        f"people edited the verdict of {judge!r} on {n_edited} of {n} items: what the judge said "
        f"itself is its verdict; --known-column label@{judge} takes the edits as known labels"
        for judge, n_edited in edited.items()
    ]
    notes += [f"{n_failed} of {n} samples ended in an error"] if n_failed else []
    notes += [] if status == "success" else [f"the run did not end well: its status is {status}"]
    return tuple(notes)


def _with_grades(items: list[Item]) -> list[Item]:
    """Grades in words, of judges that give nothing but C, I, P and N."""
    letters: dict[str, set[str]] = {}
    for item in items:
        for judge, value in item.verdicts.items():
            letters.setdefault(judge, set()).add("C" if value is None else str(value))
    graded = {judge for judge, given in letters.items() if given <= {*_GRADES}}
    return [
        replace(
            item,
            verdicts={
                judge: _GRADES.get(value, value) if judge in graded else value
                for judge, value in item.verdicts.items()
            },
        )
        for item in items
    ]


def _item(sample: Mapping[str, Any], *, repeated: bool, edited: dict[str, int]) -> Item:
    attachments = as_object(sample.get("attachments"))
    messages = [_message(one, attachments) for one in objects(sample.get("messages"))]
    roles = [one["role"] for one in messages]
    shown = {
        "input": _input(sample.get("input"), attachments),
        # More is to be seen than one input and one output.
        "messages": messages if roles not in ([], ["user", "assistant"]) else None,
        "output": _output(sample.get("output"), attachments),
        "choices": lines_of(sample.get("choices")),
        "target": lines_of(sample.get("target")),
    }
    verdicts: dict[str, Any] = {}
    hidden: dict[str, Any] = {"epoch": sample["epoch"]} if repeated else {}
    for judge, score in as_object(sample.get("scores")).items():
        own = _own(judge, score, edited)
        verdicts |= _values(judge, own.get("value"))
        if own is not score and isinstance(score, Mapping):  # people edited it, or gave it
            value = as_text(score.get("value"))
            hidden[f"label@{judge}"] = _GRADES.get(value or "", value)
        hidden[f"explanation@{judge}"] = _resolve(own.get("explanation"), attachments)
    hidden |= flatten(sample.get("metadata"), "metadata")
    error = sample.get("error")
    hidden["error"] = as_text(error.get("message") if isinstance(error, Mapping) else error)
    name = as_text(sample["id"])
    group = name if repeated else None
    return Item(f"{name}#{sample['epoch']}" if repeated else name, shown, verdicts, hidden, group)


def _own(judge: str, score: object, edited: dict[str, int]) -> Mapping[str, Any]:
    """The score that the judge gave, before people edited it; nothing if a person added it."""
    score = score if isinstance(score, Mapping) else {"value": score}
    history = objects(score.get("history"))
    is_added = bool(history and history[0].get("provenance"))
    if len(history) < 2 and not is_added:
        return score
    edited[judge] = edited.get(judge, 0) + 1
    return {} if is_added else history[0]


def _values(judge: str, value: object) -> dict[str, Any]:
    """The verdict of a judge, or one verdict for each part of it."""
    if isinstance(value, Mapping):
        return {f"{judge}.{part}": one for part, one in value.items()}
    if isinstance(value, list):
        return {f"{judge}.{at}": one for at, one in enumerate(value, start=1)}
    return {judge: value}


def _message(one: Mapping[str, Any], attachments: Mapping[str, str]) -> dict[str, Any]:
    calls = [
        tool_call(call.get("function"), call.get("arguments"))
        for call in objects(one.get("tool_calls"))
    ]
    return message(one.get("role"), _resolve(_text(one.get("content")), attachments), calls)


def _input(value: object, attachments: Mapping[str, str]) -> str | None:
    """The prompt; of several messages the last one of the user."""
    if isinstance(value, list):
        said = [one for one in objects(value) if one.get("role") == "user"]
        value = _text(said[-1].get("content")) if said else None
    return _resolve(as_text(value), attachments)


def _output(value: object, attachments: Mapping[str, str]) -> str | None:
    text = as_object(value).get("completion")
    if text is None and (choices := objects(as_object(value).get("choices"))):
        text = _text(as_object(choices[0].get("message")).get("content"))
    return _resolve(as_text(text), attachments)


def _text(content: object) -> str | None:
    """The text of a message, whose parts that are no text are only named."""
    if not isinstance(content, list):
        return as_text(content)
    parts = [part if isinstance(part, Mapping) else {"text": part} for part in content]
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


def _resolve(text: str | None, attachments: Mapping[str, str]) -> str | None:
    """The text with what was put aside under `attachments`, because it is long or repeated."""
    if text is None or not attachments or "attachment://" not in text:
        return text
    return _ATTACHMENT.sub(lambda place: str(attachments.get(place[1], place[0])), text)
