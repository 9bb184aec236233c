"""Kinds of content: recognised by their values, declared by a person, never beyond the folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from levelled.errors import PoolError
from levelled.sources import find_image, shown_fields

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look"}}]},
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" + "A" * 60 + "=="


def kind_of(value: object, declared: str | None = None, *, has_images: bool = False) -> str:
    kinds = {} if declared is None else {"it": declared}
    (field,) = shown_fields({"it": value}, kinds, has_images=has_images)
    return field.kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("Lunch?", "text"),
        ("2 * 3 * 4 and snake_case_name", "text"),
        ("[not json", "text"),
        ("[]", "text"),
        ("", "text"),
        ("# Title\n\nwords", "markdown"),
        ("it is **very** good", "markdown"),
        ("```\ncode\n```", "markdown"),
        ("see [here](https://example.org)", "markdown"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "markdown"),
        (CHAT, "chat"),
        (json.dumps(CHAT), "chat"),
        ({"messages": CHAT}, "chat"),
        ([{"role": "user"}], "json"),
        ({"a": 1}, "json"),
        ('{"a": 1}', "json"),
        ([1, 2], "json"),
        (3, "number"),
        (None, "number"),
        (True, "number"),
        (f"data:image/png;base64,{PIXEL}", "image"),
        ("data:image/svg+xml;base64,AAAA", "text"),
        ("data:text/html;base64,AAAA", "text"),
        (PIXEL, "image"),
        ({"bytes": PIXEL, "path": None}, "image"),
        ("cat.png", "text"),
    ],
)
def test_a_kind_is_recognised(value: object, kind: str) -> None:
    assert kind_of(value) == kind


def test_the_path_of_an_image_needs_a_folder() -> None:
    assert kind_of("cats/cat.PNG", has_images=True) == "image"
    assert kind_of("cat.png", "image") == "text"
    assert kind_of("cat.dat", "image", has_images=True) == "image"


@pytest.mark.parametrize(
    ("value", "declared", "kind"),
    [
        ("plain", "markdown", "markdown"),
        ("# Title", "text", "text"),
        (CHAT, "json", "json"),
        (CHAT, "text", "json"),
        ("words", "chat", "text"),
        ("12", "number", "number"),
        (7, "markdown", "text"),
        ({"a": 1}, "number", "json"),
    ],
)
def test_a_declared_kind_wins_where_the_value_can_be_it(
    value: object, declared: str, kind: str
) -> None:
    assert kind_of(value, declared) == kind


def test_a_chat_has_messages_with_content() -> None:
    parts: list[dict[str, Any]] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (field,) = shown_fields({"chat": [*CHAT, {"role": "user", "content": parts}]})
    assert [one["content"] for one in field.value] == ["Be brief.", "", "a\n\nb"]
    assert field.value[1]["tool_calls"] == CHAT[1]["tool_calls"]


def test_deeply_nested_text_is_text() -> None:
    assert kind_of("[" * 100_000) == "text"


def test_only_images_below_the_folder_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    (folder / "cats").mkdir(parents=True)
    for place in ("images/cats/a.png", "outside.png", "images/notes.txt"):
        (tmp_path / place).write_bytes(b"x")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    assert find_image(folder, "cats/a.png") == (folder / "cats" / "a.png").resolve()
    assert find_image(folder, "cats/../cats/a.png").name == "a.png"
    absolute = str(tmp_path / "outside.png")
    hostile = ["../outside.png", "cats/../../outside.png", absolute, "link.png", "loop.png"]
    for path in [*hostile, "notes.txt", "missing.png", "", ".", "a\0b.png", "x" * 5000 + ".png"]:
        with pytest.raises(PoolError, match="no image"):
            find_image(folder, path)


def test_a_huge_image_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate((20 << 20) + 1)
    with pytest.raises(PoolError, match="more than 20 MB"):
        find_image(tmp_path, "huge.png")
