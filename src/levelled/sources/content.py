"""Kinds of content: how each field that a labeller sees should be shown.

A page, a terminal and a test ask the same function, so they cannot disagree. A declared kind wins
over what is recognised; a value that cannot be of the declared kind is shown as plain text.
"""

import base64
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from levelled.errors import PoolError
from levelled.labels import list_names
from levelled.sources.files import parse_json

CONTENT_KINDS = ("text", "markdown", "chat", "json", "image", "number")
"""The kinds that a field may have; a number is any short fact for a table of fields."""

_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_DATA_URL = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{100,}={0,2}")  # fewer signs are no image, but may be a word
_BEGINNINGS = {"iVBORw0KGgo": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}
"""The kind of an image, by the first characters of its bytes in base64."""
# Headings, code, bold words, links and tables, which plain text hardly ever has. Lists and italics
# are left out: a dash or a star at the start of a line is common in mails.
_MARKDOWN = re.compile(
    r"^#{1,6} \S|^```|\*\*[^*\n]+\*\*|\[[^][\n]+\]\(https?://|^\|.*\|\s*\n\|[ :|-]+\|\s*$",
    re.MULTILINE,
)
_MOST_IMAGE_BYTES = 20 << 20  # more than a camera writes, and a page still loads it in seconds
_MOST_PIXELS = 100_000_000  # of which a browser takes 4 bytes each; cameras have up to 60 million
_HEAD = 1 << 20  # bytes of an image that say its size, behind what a camera writes in front
_LONGEST = 1_000_000
"""Characters or bytes that a labeller is shown of one value; they are kept in the log."""


@dataclass(frozen=True, slots=True)
class ShownField:
    """A field of an item, the kind of its content, and its value in the form of that kind.

    A chat is a list of messages, each with "role" and "content"; JSON is the value itself; an
    image is a data URL or the path of a file below the folder of images.
    """

    name: str
    kind: str
    value: Any


def shown_fields(
    data: Mapping[str, Any], declared: Mapping[str, str] | None = None, *, has_images: bool = False
) -> list[ShownField]:
    """The fields of an item, each with the kind of its content.

    `declared` names the kinds of some columns. Paths of images are recognised only where a folder
    of images was declared.

    >>> shown_fields({"text": "Lunch?", "price": 3, "chat": [{"role": "user", "content": "Hi"}]})
    ... # doctest: +NORMALIZE_WHITESPACE
    [ShownField(name='text', kind='text', value='Lunch?'),
     ShownField(name='price', kind='number', value=3),
     ShownField(name='chat', kind='chat', value=[{'role': 'user', 'content': 'Hi'}])]
    """
    kinds = declared or {}
    return [
        ShownField(name, *_render_as(value, kinds.get(name), has_images))
        for name, value in data.items()
    ]


def check_content(declared: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Declared kinds by column; refuses unknown kinds, and columns that nobody sees."""
    for column, kind in declared.items():
        if column not in columns:
            raise PoolError(
                f"There is no column {column!r} to show as {kind}; labellers see "
                f"{list_names(columns, 12) or 'none'}."
            )
        if kind not in CONTENT_KINDS:
            raise PoolError(
                f"{kind!r} is no kind of content for {column!r}: choose {', '.join(CONTENT_KINDS)}."
            )
    return {**declared}


def find_image(folder: str | Path, path: str) -> Path:
    """The file of an image below a folder; refuses any other file, and links that lead outside."""
    root = Path(folder).resolve()
    try:
        file = (root / path).resolve()
        is_image = file.suffix.lower() in _ENDINGS and file.is_file()
    except (OSError, ValueError, RuntimeError):  # such as a NUL, a loop of links, a long name
        is_image = False
    if not is_image or root not in file.parents:
        raise PoolError(
            f"There is no image {path!r:.200} below the folder of images. It must be a file that "
            f"ends in {', '.join(_ENDINGS)}."
        )
    check_image(file)
    return file


def check_image(file: Path) -> None:
    """Refuse an image that would fill the memory of a browser."""
    if file.stat().st_size > _MOST_IMAGE_BYTES:
        raise PoolError(f"The image {file.name!r:.200} has more than {_MOST_IMAGE_BYTES >> 20} MB.")
    with file.open("rb") as opened:
        pixels = n_pixels(opened.read(_HEAD))
    if pixels > _MOST_PIXELS:
        raise PoolError(
            f"The image {file.name!r:.200} has {pixels:,} pixels, and up to {_MOST_PIXELS:,} are "
            f"shown: save it smaller."
        )


def n_pixels(data: bytes) -> int:
    """The pixels that an image says it has, by its first bytes; 0 if they do not say it."""
    try:
        if data.startswith(b"\x89PNG"):
            width, height = struct.unpack_from(">2L", data, 16)
        elif data.startswith(b"GIF8"):
            width, height = struct.unpack_from("<2H", data, 6)
        elif data[12:16] == b"VP8X":
            width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        elif data[12:16] == b"VP8L":  # two numbers of 14 bits
            (both,) = struct.unpack_from("<L", data, 21)
            width, height = 1 + (both & 0x3FFF), 1 + (both >> 14 & 0x3FFF)
        elif data[12:16] == b"VP8 ":
            width, height = (one & 0x3FFF for one in struct.unpack_from("<2H", data, 26))
        elif data.startswith(b"\xff\xd8"):
            width, height = _jpeg_size(data)
        else:
            return 0
    except struct.error:  # cut off
        return 0
    return int(width * height)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height in the first frame of a JPEG, whose parts begin with mark and length."""
    at = 2
    while True:
        mark, length, _, height, width = struct.unpack_from(">2HB2H", data, at)
        if 0xFFC0 <= mark <= 0xFFCF and mark not in (0xFFC4, 0xFFC8, 0xFFCC):
            return width, height
        at += 2 + length


def _render_as(value: object, declared: str | None, has_images: bool) -> tuple[str, Any]:
    """The kind of a value, and the value in the form of that kind."""
    parsed = _parse(value)
    if declared is None:
        return _recognise(value, parsed, has_images)
    if declared == "chat":
        return ("chat", _messages(parsed)) if _is_chat(parsed) else _as_text(value, parsed)
    if declared == "json":
        return "json", parsed
    if declared == "image":
        url = _image_url(value)
        if url is None and isinstance(value, str) and has_images:
            return "image", value
        return _as_text(value, parsed) if url is None else _as_image(url)
    if declared == "number" and not isinstance(value, list | dict):
        return "number", value
    return (declared, value) if isinstance(value, str) else _as_text(value, parsed)


def _recognise(value: object, parsed: object, has_images: bool) -> tuple[str, Any]:
    if _is_chat(parsed):
        return "chat", _messages(parsed)
    if (url := _image_url(value)) is not None:
        return _as_image(url)
    if isinstance(parsed, list | dict):
        return "json", parsed
    if not isinstance(value, str):
        return "number", value
    if has_images and value.lower().endswith(_ENDINGS) and "\n" not in value:
        return "image", value
    return ("markdown" if _MARKDOWN.search(value) else "text"), value


def _parse(value: object) -> Any:  # noqa: ANN401
    """The value of a text that holds a JSON object or array, as a cell of CSV does."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            parsed = parse_json(value)
        except ValueError:
            return value
        return parsed if isinstance(parsed, list | dict) and parsed else value
    return value


def _is_chat(value: object) -> bool:
    """True for a list of messages, each with a role and something said or called."""
    if isinstance(value, dict) and [*value] == ["messages"]:
        value = value["messages"]
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("role"), str)
            and ("content" in one or "tool_calls" in one)
            for one in value
        )
    )


def _messages(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The messages of a chat; content in parts is joined where all of them are text."""
    messages = value["messages"] if isinstance(value, dict) else value
    joined = []
    for one in messages:
        content = "" if one.get("content") is None else one["content"]
        if isinstance(content, list) and all(
            isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
        ):
            content = "\n\n".join(part["text"] for part in content)
        joined.append({**one, "content": content})
    return joined


def _image_url(value: object) -> str | None:
    """The data URL of an image: as it is, or made of its bytes in base64."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), str):
        value = value["bytes"]  # as data sets keep images
    if not isinstance(value, str):
        return None
    if _DATA_URL.fullmatch(value):
        return value
    for beginning, kind in _BEGINNINGS.items():
        if value.startswith(beginning) and _BASE64.fullmatch(value):
            return f"data:image/{kind};base64,{value}"
    return None


def _as_image(url: str) -> tuple[str, str]:
    head = url.partition(",")[2][: _HEAD * 4 // 3 // 4 * 4]
    try:
        pixels = n_pixels(base64.b64decode(head))
    except ValueError:  # signs are missing: no browser shows it
        pixels = 0
    if pixels > _MOST_PIXELS:
        return "text", f"[not shown: an image of {pixels:,} pixels]"
    return "image", url


def _as_text(value: object, parsed: object) -> tuple[str, Any]:
    if isinstance(parsed, list | dict):
        return "json", parsed
    return "text", "" if value is None else str(value)


def as_json(value: object) -> object:
    """A value that JSON can hold: times as ISO text, bytes as base64, NaN as null.

    Very long text is cut, and says so.
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]} [cut here: {len(value):,} characters]"
    if isinstance(value, bytes) and len(value) > _LONGEST:
        return f"[not shown: {len(value):,} bytes]"
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
