"""Test runs of deepeval: the file `.deepeval/.latest_test_run.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from levelled.sources.readers.items import (
    Contents,
    Item,
    as_text,
    flatten,
    lines_of,
    message,
    objects,
    tool_call,
)


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for the object of a test run, alone or in the file of the latest one."""
    run = sample.get("testRunData", sample)
    return not is_list and isinstance(run, Mapping) and isinstance(run.get("testCases"), list)


def read(document: Mapping[str, Any], name: str) -> Contents:
    """An item for each test case, of one turn or of several."""
    run = document.get("testRunData", document)
    cases = [*objects(run["testCases"]), *objects(run.get("conversationalTestCases"))]
    names = Counter(str(one.get("name")) for one in cases)
    has_names = len(names) == len(cases)
    return Contents(
        [_item(one, str(one.get("name")) if has_names else str(at)) for at, one in enumerate(cases)]
    )


def _item(case: Mapping[str, Any], name: str) -> Item:
    calls = [
        tool_call(call.get("name"), call.get("inputParameters"))
        for call in objects(case.get("toolsCalled"))
    ]
    turns = [message(turn.get("role"), turn.get("content")) for turn in objects(case.get("turns"))]
    shown = {
        "input": as_text(case.get("input") or case.get("scenario")),
        "messages": turns or None,
        "context": lines_of(case.get("context")),
        "retrieval_context": lines_of(case.get("retrievalContext")),
        "tool_calls": calls or None,
        "output": as_text(case.get("actualOutput")),
        "target": as_text(case.get("expectedOutput") or case.get("expectedOutcome")),
    }
    verdicts: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for metric in objects(case.get("metricsData")):
        judge = str(metric.get("name"))
        verdicts[judge] = metric.get("success")
        hidden[f"score@{judge}"] = metric.get("score")
        hidden[f"explanation@{judge}"] = as_text(metric.get("reason"))
    metadata = case.get("additionalMetadata", case.get("metadata"))
    return Item(name, shown, verdicts, hidden | flatten(metadata, "metadata"))
