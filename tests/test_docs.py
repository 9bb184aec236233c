"""Docs that cannot go stale."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import levelled
from levelled_studies.manual import pages

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PUBLIC = [
    "levelled",
    "levelled.advice",
    "levelled.bayes",
    "levelled.campaigns",
    "levelled.errors",
    "levelled.estimators",
    "levelled.learning",
    "levelled.losses",
    "levelled.metrics",
    "levelled.proposals",
    "levelled.samplers",
    "levelled.scores",
    "levelled.sources",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_importable_and_in_the_reference(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    reference = (ROOT / "docs/reference.md").read_text()
    for public in module.__all__:
        assert hasattr(module, public)
        assert re.search(rf"\b{public}\b", reference), f"{name}.{public} has no line there"


def test_every_part_of_the_package_is_public_or_private_on_purpose() -> None:
    parts = {name.partition(".")[2] for name in PUBLIC if "." in name}
    assert parts - {"bayes"} <= set(levelled.__all__)  # it needs torch: import it by its name


@pytest.mark.parametrize("name", pages())
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == pages()[name], "write it anew: make docs"
