"""The present code gives the kept results: the claims of every table, and one table itself."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest

pytest.importorskip("sklearn")

from levelled_studies import NAMES, find

RESULTS = Path(__file__).parents[2] / "docs/results"
KEPT = [claims.parent for name in NAMES for claims in sorted((RESULTS / name).rglob("claims.json"))]


def frozen(value: object) -> object:
    """Settings have tuples where JSON has lists."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def test_every_folder_with_claims_is_of_a_study() -> None:
    homes = {path.relative_to(RESULTS).parts[0] for path in RESULTS.rglob("claims.json")}
    assert homes <= set(NAMES)


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.relative_to(RESULTS).as_posix())
def test_the_kept_claims_are_made_anew_from_the_kept_table(folder: Path) -> None:
    told = json.loads((folder / "settings.json").read_text())
    name = told.pop("study")
    (study,) = (study for study in find(name) if study.name == name)
    kind: Any = type(study.presets["cpu"])
    settings = kind(**{key: frozen(value) for key, value in told.items()})
    made = study.claims(pacsv.read_csv(folder / "table.csv"), settings)
    assert [asdict(claim) for claim in made] == json.loads((folder / "claims.json").read_text())


def test_a_kept_table_is_made_anew_from_its_seed() -> None:
    (study,) = find("linear-bias")
    settings = study.presets["cpu"]
    (task,) = study.tasks(settings)
    (seed,) = np.random.SeedSequence(settings.seed).spawn(1)
    assert callable(study.run)
    made = study.run(settings, task, np.random.default_rng(seed))
    kept = pacsv.read_csv(RESULTS / "linear-bias" / "table.csv")
    assert made.column_names == kept.column_names
    assert made["series"].to_pylist() == kept["series"].to_pylist()
    for name in kept.column_names[1:]:
        np.testing.assert_allclose(made[name], kept[name], rtol=0, atol=1e-9)
