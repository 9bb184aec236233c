import ast
import json
import re
from pathlib import Path

import pytest

from levelled_studies import NAMES
from levelled_studies.ledger import page, write
from levelled_studies.study import StudyError
from levelled_studies.theorems import THEOREMS, WORDING, Theorem

ROOT = Path(__file__).parents[2]
CLAIM = {
    "name": "a",
    "where": "section 1",
    "says": "|x| is small",
    "measured": "1 ± 0.5",
    "verdict": "holds partly",
    "because": "",
}


def test_the_committed_ledger_is_the_generated_one() -> None:
    committed = (ROOT / "docs/paper/claims.md").read_text()
    assert committed == page(ROOT / "docs/results"), (
        "write it anew: python -m levelled_studies.ledger"
    )


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_the_tests_that_a_theorem_names_exist(theorem: Theorem) -> None:
    assert theorem.tests
    for test in theorem.tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_tests_that_the_notes_on_wording_name_exist() -> None:
    defined = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = [name for _, note in WORDING for name in re.findall(r"test_\w+", note)]
    assert len(named) >= 2
    for name in named:
        assert f"def {name}(" in defined


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("linear-")])
def test_the_results_at_full_size_are_kept_small_and_shown(name: str) -> None:
    folder = ROOT / "docs/results" / name
    settings = json.loads((folder / "settings.json").read_text())
    assert (settings["study"], settings["trajectories"]) == (name, 1000)
    assert (folder / "table.csv").stat().st_size < 100_000
    shown = (ROOT / "docs/paper/studies.md").read_text()
    pictures = list(folder.glob("*.png"))
    assert pictures
    for picture in pictures:
        assert f"../results/{name}/{picture.name}" in shown


def test_claims_of_finished_studies_are_told_with_their_figures(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "linear-bias"
    folder.mkdir(parents=True)
    (folder / "claims.json").write_text(json.dumps([CLAIM]))
    (folder / "settings.json").write_text('{"study": "linear-bias", "seed": 3}')
    text = write(tmp_path).read_text()
    assert r"| section 1 | \|x\| is small | 1 ± 0.5 | **holds partly** |  |" in text
    assert "`linear-bias`: seed 3." in text
    assert "Theorem 7" in text


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no folder"):
        write(tmp_path)
