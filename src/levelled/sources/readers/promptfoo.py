"""Results of promptfoo (`promptfoo eval -o results.json` or `.jsonl`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from levelled.errors import PoolError
from levelled.sources.readers.items import Contents, Item, as_object, as_text, flatten, objects

_NEEDED = {"prompt", "success", "testIdx", "vars"}


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for the object of a file of results, or a line of one."""
    if is_list:
        return {*sample} >= _NEEDED
    return "evalId" in sample and isinstance(sample.get("results"), Mapping)


def read(document: Any, name: str) -> Contents:  # noqa: ANN401
    """An item for each result: a test case with one prompt and one provider."""
    results = document if isinstance(document, list) else document["results"].get("results")
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        raise PoolError(
            f"{name} has no list of results: write it with promptfoo eval -o results.json, of "
            f"version 0.100 or newer."
        )
    return Contents([_item(row, at) for at, row in enumerate(results)])


def _item(row: Mapping[str, Any], at: int) -> Item:
    prompt, response = as_object(row.get("prompt")), as_object(row.get("response"))
    grading, test = as_object(row.get("gradingResult")), as_object(row.get("testCase"))
    verdicts: dict[str, Any] = {"success": row.get("success")}
    hidden: dict[str, Any] = {"explanation@success": as_text(grading.get("reason"))}
    for judge, one in _components(grading.get("componentResults")):
        verdicts[judge] = one.get("pass")
        hidden[f"explanation@{judge}"] = as_text(one.get("reason"))
    hidden |= {"provider": as_text(as_object(row.get("provider")).get("id") or row.get("provider"))}
    hidden |= {"prompt": as_text(prompt.get("label")), "score@success": row.get("score")}
    hidden |= flatten(row.get("vars"), "vars") | flatten(test.get("metadata"), "metadata")
    shown = {"input": as_text(prompt.get("raw")), "output": as_text(response.get("output"))}
    return Item(str(row.get("id") or at), shown, verdicts, hidden, group=str(row.get("testIdx")))


def _components(results: object) -> list[tuple[str, Mapping[str, Any]]]:
    """The assertions with a name each: their metric, or their type."""
    components: list[tuple[str, Mapping[str, Any]]] = []
    seen: Counter[str] = Counter()
    for one in objects(results):
        assertion = as_object(one.get("assertion"))
        name = str(assertion.get("metric") or assertion.get("type") or "assertion")
        seen[name] += 1
        components.append((f"{name} {seen[name]}" if seen[name] > 1 else name, one))
    return components
