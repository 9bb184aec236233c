"""Texts with their classes, out of JSON files and folders of text files."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from levelled_studies.datasets.archives import Members
from levelled_studies.datasets.record import Parts

__all__ = ["folders_of_texts", "mails", "reviews"]


def reviews(members: Members) -> Parts:
    """A JSON list of reviews: `t` is the text, `s` is 1 if it is favourable."""
    (content,) = members.values()
    rows = json.loads(content)
    return _parts([row["t"] for row in rows], [row["s"] for row in rows])


def folders_of_texts(members: Members) -> Parts:
    """A folder for every class, in alphabetical order, with a file for every text."""
    folders = [name.split("/")[-2] for name in members]
    classes = sorted(set(folders))
    return _parts(
        [_decoded(content) for content in members.values()],
        [classes.index(folder) for folder in folders],
    )


def mails(members: Members) -> Parts:
    """A JSON file for every mail; its `group` begins with spam if it is."""
    rows = [json.loads(content) for content in members.values()]
    return _parts([row["text"] for row in rows], [row["group"].startswith("spam") for row in rows])


def _decoded(content: bytes) -> str:
    """UTF-8, or Latin-1 where a file is not."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _parts(texts: Sequence[str], classes: Sequence[int]) -> Parts:
    X = np.empty(
        len(texts), dtype=object
    )  # fixed width would make every text as long as the longest
    X[:] = texts
    return {"X": X, "y": np.array(classes, dtype=np.int64)}
