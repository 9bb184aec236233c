"""`import levelled` is light, and what is missing says how to get it."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import levelled
from levelled._optional import optional
from levelled.errors import LevelledError, MissingExtraError

PRODUCT = Path(levelled.__file__).parent
HEAVY = ["scipy", "pyarrow", "sklearn", "matplotlib", "click", "rich", "torch"]


def test_importing_levelled_loads_nothing_heavier_than_numpy() -> None:
    code = f"import sys, levelled; print([m for m in {HEAVY} if m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_studies_are_listed_without_what_only_running_them_needs() -> None:
    code = (
        "import sys; from levelled_studies import NAMES, find; [find(name) for name in NAMES]; "
        "print([m for m in ['torch', 'sklearn', 'matplotlib'] if m in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'estimat'"):
        _ = levelled.estimat
    assert set(levelled.__all__) <= set(dir(levelled))


def test_a_missing_extra_says_how_to_install_it() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'levelled\[torch\]'") as caught:
        optional("a_package_that_is_not_there", extra="torch")
    assert isinstance(caught.value, LevelledError)


def test_a_broken_package_is_not_called_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"json\.nothing"):
        optional("json.nothing", extra="torch")


def test_no_two_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PRODUCT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(PRODUCT)}:{node.lineno}")
    assert {name: lines for name, lines in places.items() if len(lines) > 1} == {}


def test_learning_without_scikit_learn_says_how_to_install_it_and_weights_need_none() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; import levelled as lv\n"
        "print(lv.learning.training_weights(([2, 0], [0.5, 0.25], 4)).round(3).tolist())\n"
        "try: lv.learning.ActiveLearner\n"
        "except lv.errors.MissingExtraError as missing: print(missing)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    weights, says = run.stdout.splitlines()
    assert weights == "[0.667, 1.333]"
    assert "pip install 'levelled[sklearn]'" in says
