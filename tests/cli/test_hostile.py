"""Hostile text in every field: no control characters on a terminal, no formulas in a sheet."""

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.terminal import Levelled
from hostile import HOSTILE
from levelled.campaigns import create_campaign
from levelled.sources.answers import read_cell

CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
FORMULA = re.compile(r"[=+\-@\t\r](?![\d.,]+$)")


@pytest.fixture
def pool() -> Path:
    """A pool and a campaign with such a text in ids, fields, slices, labels, notes and owners."""
    columns = {
        "id": [f"{at} {text}" for at, text in enumerate(HOSTILE)],
        "pred": ["good", *["bad"] * (len(HOSTILE) - 1)],
        "text": [*HOSTILE],
        "part": [*HOSTILE],
    }
    pq.write_table(pa.table(columns), "pool.parquet")
    campaign = create_campaign(
        "hostile",
        "pool.parquet",
        storage="sqlite:///levelled.db",
        seed=1,
        kind="uniform",
        slices=["part"],
        open_classes=True,
        guidelines="\n".join(HOSTILE),
    )
    for text in HOSTILE[:-5]:
        owner = text if text.isprintable() and text == text.strip() else None
        (one,) = campaign.ask(1, owner=owner)
        campaign.tell(one.draw, text, owner=owner, note=text)
    campaign.ask(2, owner="[red]x")
    return Path("pool.parquet")


@pytest.mark.parametrize("shape", ["table", "json", "csv"])
def test_no_command_sends_control_characters_to_a_terminal(
    levelled: Levelled, pool: Path, shape: str
) -> None:
    commands = [("status",), ("estimate",), ("open",), ("ask", "-n", "1", "--owner", "eve")]
    if shape != "csv":
        commands.append(("audit",))
    for words in commands:
        more = () if words == ("audit",) else ("--format", shape)
        done = levelled(words[0], "hostile", *words[1:], *more)
        assert done.code == 0, (words, done.err)
        for text in (done.out, done.err):
            assert not CONTROL.search(text.replace("\r\n", "\n")), (words, CONTROL.search(text))
    looked = levelled("look", str(pool), "--format", "table")
    assert not CONTROL.search(looked.out + looked.err)


def test_sheets_hold_no_formulas_and_are_read_back_as_they_were(
    levelled: Levelled, pool: Path
) -> None:
    del pool
    assert levelled("export", "hostile", "--out", "labels.csv").code == 0
    rows = [*csv.DictReader(io.StringIO(Path("labels.csv").read_bytes().decode()))]
    assert len(rows) == len(HOSTILE) - 3
    for row in rows:
        for cell in row.values():
            assert not FORMULA.match(cell), cell
    readable = {text for text in HOSTILE[:-5] if not CONTROL.search(text)}
    assert readable <= {read_cell(row["label"]) for row in rows}
