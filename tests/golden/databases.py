"""Databases that were written before, kept as dumps, which later versions open and go on with."""

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa

from golden import pools
from golden.campaigns import abridged, label
from golden.surface import events, figures
from levelled.campaigns import Campaign, create_campaign, load_campaign, upgrade

N = 80


def _adaptive(campaign: Campaign, folder: Path) -> None:
    label(campaign, 20, pools.kind, "ann")
    campaign.amend(3, "ham", owner="bob", on_behalf_of="bob")
    campaign.mark_unlabelable(campaign.ask(1, owner="ann")[0].draw, owner="ann", reason="empty")
    label(campaign, 14, pools.kind, "ann")


def _static(campaign: Campaign, folder: Path) -> None:
    label(campaign, 22, pools.kind)
    campaign.change(budget=50, owner="ann")
    campaign.rename("renamed", owner="ann")
    campaign.close(reason="enough")
    campaign.reopen()


def _numbers(campaign: Campaign, folder: Path) -> None:
    label(campaign, 25, pools.number)
    campaign.skip(campaign.ask(1, owner="ann")[0].draw, owner="ann", reason="hard")


DATABASES: dict[str, tuple[Any, Any, Any, dict[str, Any], Any]] = {
    "adaptive": (pools.spam, pools.kind, _adaptive, {"slices": ["country"], "budget": 60}, None),
    "static": (
        *(pools.spam, pools.kind, _static),
        {"kind": "static", "budget": 40, "looks": 0},
        ["error", "brier"],
    ),
    "numbers": (pools.numbers, pools.number, _numbers, {"looks": 3, "budget": 45}, ["mse"]),
}


def pool(name: str, folder: Path) -> Path:
    """The pool of a database, as CSV, whose bytes depend on nothing else."""
    return pools.write_csv(folder / "pool.csv", DATABASES[name][0](N))


def dump(name: str, folder: Path) -> str:
    """Write a database in an empty folder, and give its dump."""
    _, _, work, options, metric = DATABASES[name]
    path, storage = pool(name, folder), folder / "golden.db"
    campaign = create_campaign("first", path, metric or "error", storage=storage, seed=8, **options)
    work(campaign, folder)
    with sqlite3.connect(storage) as database:
        text = "\n".join(database.iterdump())
    database.close()
    return text


def restore(dumped: str, folder: Path) -> Path:
    """The database of a dump, upgraded if this version asks for it."""
    with sqlite3.connect(folder / "golden.db") as database:
        database.executescript(dumped)
    database.close()
    upgrade(folder / "golden.db")
    return folder / "golden.db"


def go_on(name: str, dumped: str, folder: Path) -> dict[str, Any]:
    """Open a database of before, audit it, and label on."""
    storage, path = restore(dumped, folder), pool(name, folder)
    called = "renamed" if name == "static" else "first"
    campaign = load_campaign(called, storage=storage, pool=path)
    made: dict[str, Any] = {
        "n_events then": len(events(storage, called)),
        "last_hash then": [campaign.last_hash],
        "figures then": figures(campaign),
        "audit then": list(campaign.audit()),
    }
    label(campaign, 8, DATABASES[name][1], "cy")
    return made | {
        "events": [abridged(one) for one in events(storage, called)[made["n_events then"] :]],
        "figures": figures(campaign),
        "audit": list(load_campaign(called, storage=storage, pool=path).audit()),
        "table": pa.table(campaign.to_table()).to_pydict(),
    }
