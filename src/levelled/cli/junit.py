"""Claims as JUnit XML, the format in which build servers read the results of tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from levelled._files import replace_file
from levelled.cli import show

if TYPE_CHECKING:
    from levelled.campaigns import GateClaim


def write_junit(
    path: Path, campaign: str, claims: "Sequence[GateClaim]", *, allow_undecided: bool
) -> None:
    """Write a test suite with one test case a claim.

    A refuted claim is a failure. One that is not decided yet is a failure too, or a skipped test
    if those are allowed.
    """
    undecided = "skipped" if allow_undecided else "failure"
    suite = ET.Element("testsuite", name=_text(f"levelled gate {campaign}"))
    for one in claims:
        case = ET.SubElement(suite, "testcase", classname=_text(campaign), name=_text(one.text))
        if one.word != "shown":
            kind = "failure" if one.word == "refuted" else undecided
            result = ET.SubElement(case, kind, message=_text(one.sentence))
            if kind == "failure":
                result.set("type", one.word)
        ET.SubElement(case, "system-out").text = _text(one)
    suite.set("tests", str(len(claims)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    root = ET.Element("testsuites")
    root.append(suite)
    tree = ET.ElementTree(root)
    replace_file(path, lambda file: tree.write(file, encoding="utf-8", xml_declaration=True))


def _text(value: object) -> str:
    """Text that XML may hold: control characters are escaped as a terminal shows them."""
    return show.plain(value, 2000)
