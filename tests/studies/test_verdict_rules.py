"""Every verdict of the ledger, worked out again from the kept tables by its rule.

The rules of `studies.rules` are written from the words of the ledger, without the studies' code,
so a study that judges by another rule than it states is found out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("scipy")

from levelled_studies import NAMES, find
from studies.rules import adaptive, images, learning, linear, neighbours, own
from studies.rules.reading import Row, Rule

RESULTS = Path(__file__).parents[2] / "docs/results"
RULES: Mapping[tuple[str, str], Rule] = {
    (study, claim): rule
    for rules in (linear.RULES, neighbours.RULES, own.RULES, adaptive.RULES)
    for study, each in rules.items()
    for claim, rule in each.items()
}
PATTERNS: Mapping[str, Rule] = images.PATTERNS | learning.PATTERNS
CLAIMS = [
    (path.parent, claim)
    for name in NAMES
    for path in sorted((RESULTS / name).rglob("claims.json"))
    for claim in json.loads(path.read_text())
]


@cache
def kept(folder: Path) -> tuple[list[Row], dict[str, Any]]:
    rows: list[Row] = pacsv.read_csv(folder / "table.csv").to_pylist()
    return rows, json.loads((folder / "settings.json").read_text())


def rule_of(study: str, claim: str) -> Rule:
    """The rule of a claim; there has to be one."""
    if (study, claim) in RULES:
        return RULES[study, claim]
    found = [rule for pattern, rule in PATTERNS.items() if re.fullmatch(pattern, claim)]
    assert found, f"{study}: the claim {claim!r} has no rule in tests/studies/rules"
    return found[0]


@pytest.mark.parametrize(
    ("folder", "claim"),
    CLAIMS,
    ids=[f"{folder.relative_to(RESULTS).as_posix()}: {claim['name']}" for folder, claim in CLAIMS],
)
def test_the_kept_table_implies_the_verdict_by_its_rule(
    folder: Path, claim: dict[str, str]
) -> None:
    rows, settings = kept(folder)
    assert (
        rule_of(settings["study"], claim["name"])(rows, settings, claim["name"])
        == (claim["verdict"])
    )


def test_the_ledger_has_a_line_with_each_of_these_verdicts() -> None:
    ledger = (RESULTS.parent / "paper/claims.md").read_text()
    _, _, *studies = ledger.split("\n## ")  # after the introduction and the theorems
    lines = [line for part in studies for line in part.splitlines() if "| **" in line]
    assert len(lines) == len(CLAIMS)
    for (_, claim), line in zip(CLAIMS, lines, strict=True):
        assert f"| **{claim['verdict']}** |" in line
        assert claim["says"].replace("|", "\\|") in line


SIGNED = {
    **dict.fromkeys(
        ("linear-bias", "linear-overfitting", "linear-epsilon-greedy"), ("mean", "median")
    ),
    "linear-decomposition": ("3", "4"),
    "image-bias": ("naive",),
}
"""Columns, terms or series that may have either sign."""
FIXED = {
    *("labels", "pool_size", "size", "seed", "repetitions", "runs", "trajectory", "index"),
    *("probability", "nearer", "x", "y", "distance", "paths", "resampled", "budget", "risk"),
    *("floor", "amount", "share"),
}
"""Columns that say what a row is, or that have to remain probabilities."""
COUNTED = "different points"
"""A series of numbers of labels, which are no results either."""


def other_table(rows: Sequence[Row], study: str, seed: int) -> list[Row]:
    """The same table with other numbers: each kind of row is scaled as a whole, and row by row."""
    rng = np.random.default_rng(seed)
    numbers = [
        name
        for name in rows[0]
        if name not in FIXED and any(isinstance(row[name], float) for row in rows)
    ]
    size = (0.02, 0.3, 1.0, 3.0)[seed % 4]
    factors: dict[tuple[str, ...], float] = {}
    changed = []
    for row in rows:
        kind = tuple(value for value in row.values() if isinstance(value, str))
        new = dict(row)
        for name in numbers:
            if row[name] is None or COUNTED in kind:
                continue
            if (key := (name, *kind)) not in factors:
                free = name in ("mean", "median", "value") and {name, *kind} & {
                    *SIGNED.get(study, ())
                }
                flip = free and rng.random() < 0.3
                factors[key] = float(np.exp(size * rng.normal())) * (-1 if flip else 1)
            new[name] = row[name] * factors[key] * float(np.exp(size / 10 * rng.normal()))
        changed.append(new)
    return changed


FOLDERS = list(dict.fromkeys(folder for folder, _ in CLAIMS))


def frozen(value: object) -> object:
    """Settings have tuples where JSON has lists."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize(
    "folder", FOLDERS, ids=[path.relative_to(RESULTS).as_posix() for path in FOLDERS]
)
def test_a_study_judges_other_tables_by_the_same_rules(folder: Path, other: int) -> None:
    """A rule that differs only where the kept results do not tell is found out, too."""
    rows, settings = kept(folder)
    (study,) = (one for one in find(settings["study"]) if one.name == settings["study"])
    told = {key: frozen(value) for key, value in settings.items() if key != "study"}
    own: Any = type(study.presets["cpu"])
    changed = other_table(rows, study.name, other)
    with np.errstate(all="ignore"):
        for claim in study.claims(pa.Table.from_pylist(changed), own(**told)):
            assert (
                rule_of(study.name, claim.name)(changed, settings, claim.name) == claim.verdict
            ), claim
