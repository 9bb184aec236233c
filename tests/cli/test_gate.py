"""`levelled gate` as a build pipeline runs it: exit codes, JSON, JUnit XML, waiting."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
import yaml

import levelled as lv
from cli.terminal import Levelled
from levelled.cli.reading import NOT_YET, REFUTED

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def spam(levelled: Levelled, pool: Path, truth: dict[str, str], tmp_path: Path) -> str:
    """A campaign with 100 labels; its error is about 0.12."""
    campaign = lv.create_campaign(
        "spam", pool, ["error", "f1:spam"], storage=tmp_path / "levelled.db", seed=7, budget=200
    )
    tell(campaign, 100, truth)
    return "spam"


def tell(campaign: lv.Campaign, n: int, truth: dict[str, str]) -> None:
    for ask in campaign.ask(n):
        campaign.tell(ask.draw, truth[str(ask.id)])


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        (["--at-most", 0.5], 0),
        (["--at-most", 0.12], NOT_YET),
        (["--at-most", 0.12, "--allow-undecided"], 0),
        (["--at-most", 0.001], REFUTED),
        (["--at-least", 0.001, "--at-most", 0.5], 0),
        (["--claim", "error<=0.5", "--claim", "f1:spam >= 0.2"], 0),
        (["--claim", "error<=0.5", "--claim", "error<=0.12"], NOT_YET),
        (["--claim", "error<=0.12", "--at-most", 0.001, "--allow-undecided"], REFUTED),
    ],
)
def test_the_exit_code_is_that_of_the_worst_claim(
    levelled: Levelled, spam: str, claims: list[object], code: int
) -> None:
    result = levelled("gate", spam, *claims)
    assert result.code == code, result.err
    assert result.err == ""


def test_a_claim_is_one_line_on_the_terminal(levelled: Levelled, spam: str) -> None:
    claims = "--claim", "error<=0.12", "--at-most", 0.5
    lines = levelled("gate", spam, *claims, "--format", "table").out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["shown", "not yet", "last hash"]
    assert "95% confidence, 100 labels" in lines[0]


def test_json_has_the_values_of_the_claim_and_the_hash_of_the_log(
    levelled: Levelled, spam: str
) -> None:
    (one,) = json.loads(levelled("gate", spam, "--at-most", 0.5, "--level", 0.9).out)
    assert (one["campaign"], one["word"], one["level"]) == ("spam", "shown", 0.9)
    assert one["last_hash"] == json.loads(levelled("estimate", spam).out)[0]["last_hash"]
    documented = (DOCS / "gate.md").read_text()
    assert [name for name in one if f"`{name}`" not in documented] == []


def test_a_gate_leaves_the_storage_as_it_was(levelled: Levelled, spam: str, tmp_path: Path) -> None:
    before = (tmp_path / "levelled.db").read_bytes()
    assert levelled("gate", spam, "--at-most", 0.5).code == 0
    assert (tmp_path / "levelled.db").read_bytes() == before


@pytest.mark.parametrize("allowed", [False, True])
def test_junit_has_one_case_a_claim(
    levelled: Levelled, spam: str, tmp_path: Path, allowed: bool
) -> None:
    claims = [word for limit in (0.5, 0.12, 0.001) for word in ("--claim", f"error<={limit}")]
    undecided = ["--allow-undecided"] if allowed else []
    assert levelled("gate", spam, *claims, *undecided, "--junit", "gate.xml").code == REFUTED
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {
        "tests": 3,
        "failures": 1 if allowed else 2,
        "errors": 0,
        "skipped": int(allowed),
    }
    shown, open_, refuted = suite
    assert shown.attrib == {"classname": "spam", "name": "error is at most 0.5"}
    assert shown.find("failure") is None
    assert (open_.find("failure") is None) == allowed
    failure = refuted.find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "refuted"
    assert failure.attrib["message"].startswith("refuted: error is above 0.001; ")


def test_names_cannot_break_the_xml(levelled: Levelled, tmp_path: Path) -> None:
    name, hostile = 'a<b>&"]]>', 'share:</testcase>\x00\x1b[31m\u202e&"'
    pool = pa.table({"id": ["a", "b"], "pred": ["x", "y"]})
    storage = tmp_path / "levelled.db"
    lv.create_campaign(name, pool, hostile, storage=storage, seed=7, open_classes=True)
    assert levelled("gate", name, "--at-most", 0.5, "--junit", "gate.xml").code == NOT_YET
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()
    assert suite[0].attrib["classname"] == name
    assert suite[0].attrib["name"].startswith("share:</testcase>\\x00\\x1b[31m\\u202e&")
    shown = levelled("gate", name, "--at-most", 0.5, "--format", "table").out
    assert "\x1b" not in shown


def test_waiting_ends_when_the_claim_is_decided(
    levelled: Levelled, spam: str, truth: dict[str, str], tmp_path: Path
) -> None:
    claim = "--at-most", 0.2
    assert levelled("gate", spam, *claim).code == NOT_YET
    teller = threading.Thread(target=_tell_later, args=(tmp_path / "levelled.db", truth))
    teller.start()
    result = levelled("gate", spam, *claim, "--wait", "--every", 0.05, "--timeout", 600)
    teller.join()
    assert result.code == 0
    assert len(json.loads(result.out)) == 1


def _tell_later(path: Path, truth: dict[str, str]) -> None:
    campaign = lv.load_campaign("spam", storage=path)
    for _ in range(4):
        time.sleep(0.1)
        tell(campaign, 25, truth)


def test_waiting_ends_at_the_timeout_or_with_the_campaign(
    levelled: Levelled, spam: str, tmp_path: Path
) -> None:
    waiting = "gate", spam, "--at-most", 0.12, "--wait", "--every", 0.05
    assert levelled(*waiting, "--timeout", 0.2).code == NOT_YET
    lv.load_campaign("spam", storage=tmp_path / "levelled.db").close()
    assert levelled(*waiting).code == NOT_YET


def _steps(workflow: object) -> Iterator[dict[str, str]]:
    assert isinstance(workflow, dict)
    for job in workflow["jobs"].values():
        yield from job["steps"]


def test_the_workflow_on_the_page_runs_the_gate() -> None:
    page = (DOCS / "gate.md").read_text()
    workflow = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    commands = " ".join(step.get("run", "") for step in _steps(workflow))
    assert "levelled gate" in commands
    assert "--junit" in commands


def test_contradictory_labels_end_the_gate_with_code_1(levelled: Levelled, tmp_path: Path) -> None:
    table = pa.table({"id": range(1000), "pred": [0, 1] * 500})
    campaign = lv.create_campaign(
        "odd", table, storage=tmp_path / "levelled.db", seed=7, budget=300
    )
    for wrong in (1, 0):  # the first 150 labels are all wrong, the others right
        asks = campaign.ask(150)
        campaign.tell_all(
            [{"id": one.id, "label": bool((int(one.id) + wrong) % 2)} for one in asks]
        )
    said = levelled("gate", "odd", "--at-least", 0.1, "--junit", "gate.xml", "--format", "json")
    assert said.code == 1
    assert json.loads(said.out)[0]["word"] == "contradiction"
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()
    assert suite.attrib["failures"] == "1"
    assert "contradict" in levelled("estimate", "odd", "--format", "table").out
    levelled("report", "odd", "--out", "r.html")
    assert "has no figure" in (tmp_path / "r.html").read_text()
