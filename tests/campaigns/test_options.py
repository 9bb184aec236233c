"""An option is declared in one place, and every surface has it."""

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import levelled as lv
from levelled.campaigns.options import ARGUMENTS, GROUPS, OPTIONS
from levelled.errors import InputTypeError

SOURCE = Path(__file__).parents[2] / "src"
DECLARED = """
    patience: Annotated[
        int, _labelling("Days that a labeller may take.", least=1, most=30, changeable=True)
    ] = 3
"""
EVERYWHERE = """
import inspect, json, sys
from types import SimpleNamespace
import levelled as lv
from levelled.campaigns.options import GROUPS, OPTIONS
from levelled.campaigns.settings import CampaignSettings
from levelled.web.routes.shared import ChangeBody, CreateBody
from levelled.web.replies import TEMPLATES
from levelled_studies import manual

settings = lv.load_campaign("reviews").settings
try:
    CampaignSettings.from_json({**settings.to_json(), "patience": 31})
    refused = ""
except lv.errors.CampaignError as wrong:
    refused = str(wrong)
page = TEMPLATES.get_template("create.html").render(
    options=OPTIONS.values(), groups=GROUPS, visitor=SimpleNamespace(name="ann", role="analyst")
)
print(json.dumps({
    "signature": inspect.signature(lv.create_campaign).parameters["patience"].default,
    "docstring": "\\npatience : " in lv.create_campaign.__doc__,
    "body": CreateBody.model_json_schema()["properties"]["patience"]["maximum"],
    "change body": "patience" in ChangeBody.model_json_schema()["properties"],
    "form": '<input id="patience" data-kind="int"' in page,
    "setting": settings.patience,
    "refused log": "patience must be between 1 and 30" in refused,
    "reference": "`patience`" in manual._reference(),
}))
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The sources with one more option, declared in one file."""
    shutil.copytree(SOURCE, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "src/levelled/campaigns/options.py"
    before, after = path.read_text().split("\n\n\n@dataclass(frozen=True, slots=True)\nclass New")
    path.write_text(f"{before}{DECLARED}\n\n@dataclass(frozen=True, slots=True)\nclass New{after}")
    (tmp_path / "pool.csv").write_text("id,pred\n1,ham\n2,spam\n3,ham\n")
    return tmp_path


def run(folder: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_option_declared_in_one_place_is_on_every_surface(changed: Path) -> None:
    pytest.importorskip("fastapi")
    command = ("-m", "levelled")
    for name in ("create", "change"):
        assert "--patience INTEGER" in run(changed, *command, name, "--help")
    create = (*command, "create", "reviews", "--pool", "pool.csv", "--seed", "1")
    run(changed, *create, LEVELLED_CREATE_PATIENCE="5")
    run(changed, *command, "change", "reviews", "--patience", "7")
    (status,) = json.loads(run(changed, *command, "status", "reviews", "--format", "json"))
    assert status["patience"] == 7
    assert json.loads(run(changed, "-c", EVERYWHERE)) == {
        "signature": 3,
        "docstring": True,
        "body": 30,
        "change body": True,
        "form": True,
        "setting": 7,
        "refused log": True,
        "reference": True,
    }


def test_every_option_has_a_group_a_help_and_a_known_type() -> None:
    for option in OPTIONS.values():
        assert option.group in GROUPS
        assert option.help.endswith(".")
        assert option.kind in (int, float, str, bool, list, dict, Path)


def test_the_signature_and_its_description_are_those_of_the_declarations() -> None:
    parameters = inspect.signature(lv.create_campaign).parameters
    assert [*parameters] == [*ARGUMENTS]
    assert parameters["budget"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["pool"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name, option in ARGUMENTS.items():
        assert parameters[name].default == option.default
        assert f"\n{name} : " in (lv.create_campaign.__doc__ or "")


def test_a_misspelt_option_is_one_line_that_names_the_nearest() -> None:
    with pytest.raises(InputTypeError, match=r"'budgt'.*mean budget") as refused:
        lv.create_campaign("x", "pool.csv", seed=1, budgt=3)  # type: ignore[call-arg]
    assert "\n" not in str(refused.value)
    with pytest.raises(TypeError, match="seed"):
        lv.create_campaign("x", "pool.csv")  # type: ignore[call-arg]
