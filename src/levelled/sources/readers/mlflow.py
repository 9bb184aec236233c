"""Evaluation tables and traces of MLflow, as JSON, JSONL, CSV or Parquet.

Traces are those of `mlflow.search_traces` or `Trace.to_dict`, also in the table that
`mlflow.genai.evaluate` returns; the older `mlflow.evaluate` writes `eval_results_table.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from levelled.errors import PoolError
from levelled.sources.columns import PRED, is_text
from levelled.sources.files import parse_json
from levelled.sources.readers.items import (
    PASS_FAIL,
    Contents,
    Item,
    as_object,
    as_text,
    flatten,
    message,
    note_labels,
    objects,
    tool_call,
)

# Columns of mlflow.evaluate: NAME/v1/score, or NAME/score of one's own metric, and why.
_SCORE = re.compile(r"(.+?)(/v\d+)?/score")
_REASON = re.compile(r"(.+?)(/v\d+)?/(justification|rationale)")
_INPUT = ("inputs", "input", "request", "question")
_OUTPUT = ("outputs", "output", "response", "predictions", "prediction", "pred", "y_pred")
_TARGET = ("targets", "target", "ground_truth", "gt", "expected_response")
_MEASURED = ("latency", "token_count")


def is_table(columns: Sequence[str]) -> bool:
    """True for the columns of traces, or of an evaluation table."""
    names = {*columns}
    is_trace = "trace_id" in names and ("trace" in names or names >= {"assessments", "request"})
    return is_trace or ("id" not in names and any(_SCORE.fullmatch(one) for one in names))


def matches(sample: Mapping[str, Any], *, is_list: bool) -> bool:
    """True for a trace, a row of traces, or a table with columns and data, as pandas splits it."""
    info = sample.get("info")
    if isinstance(info, Mapping) and {*info} & {"trace_id", "request_id"}:
        return isinstance(sample.get("data"), Mapping)
    if is_list:
        return is_table([*sample])
    return is_split(sample)


def is_split(document: object) -> bool:
    """True for a table with columns and data, as pandas splits it."""
    parts = [as_object(document).get(one) for one in ("columns", "data")]
    return all(isinstance(one, list) for one in parts)


def has_predictions(table: pa.Table) -> bool:
    """True for a table of classes or numbers that were predicted, which nobody has scored."""
    names = [one for one in PRED if one in table.column_names]
    if is_table([one for one in table.column_names if one != "id"]) or not names:
        return False
    values = table.column(names[0])
    return not is_text(values.type) or 2 * len(values.unique()) <= len(values)


def read(document: Any, name: str) -> Contents:  # noqa: ANN401
    """An item for each trace, or for each row of an evaluation table."""
    rows = rows_of(document, name)
    if not any(_trace(row) for row in rows):
        return Contents([_scored(row, at) for at, row in enumerate(rows)])
    items = [_traced(row) for row in rows]
    n_labelled = sum(any(_is_human(one) for one in _assessments(row)) for row in rows)
    return Contents(items, "traces", note_labels(n_labelled, len(rows)))


def rows_of(document: Any, name: str) -> list[Mapping[str, Any]]:  # noqa: ANN401
    """The rows of a document, those of a table that is split with their number as id."""
    if isinstance(document, list):
        return document
    if "columns" not in document:
        return [document]
    columns, data = [str(one) for one in document["columns"]], document["data"]
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        raise PoolError(f"{name} has rows with more or fewer values than its columns.")
    if "id" not in columns:
        index = document.get("index")
        has_index = isinstance(index, list) and len(index) == len(data)
        numbered = zip(index if has_index else range(len(data)), data, strict=True)
        columns, data = ["id", *columns], [[at, *row] for at, row in numbered]
    return [dict(zip(columns, row, strict=True)) for row in data]


def _scored(row: Mapping[str, Any], at: int) -> Item:
    """A row of the older evaluation table."""
    verdicts = {m[1]: one for key, one in row.items() if (m := _SCORE.fullmatch(key))}
    reasons = {m[1]: one for key, one in row.items() if (m := _REASON.fullmatch(key))}
    fields = {key: one for key, one in row.items() if "/" not in key and key != "id"}
    hidden = {key: fields.pop(key) for key in _MEASURED if key in fields}
    shown: dict[str, Any] = {}
    for place, known in (("input", _INPUT), ("output", _OUTPUT), ("target", _TARGET)):
        key = next((one for one in known if one in fields), None)
        if key is not None:
            shown[place] = as_text(fields.pop(key))
    hidden |= {f"explanation@{judge}": as_text(one) for judge, one in reasons.items()}
    return Item(as_text(row.get("id", at)), shown | fields, verdicts, hidden)


def _traced(row: Mapping[str, Any]) -> Item:
    trace = _trace(row)
    info, spans = as_object(trace.get("info")), objects(as_object(trace.get("data")).get("spans"))
    root = next((one for one in spans if not one.get("parent_span_id", one.get("parent_id"))), {})
    request = _of_span(root, "Inputs", row.get("request", info.get("request_preview")))
    response = _of_span(root, "Outputs", row.get("response", info.get("response_preview")))
    calls = [
        tool_call(one.get("name"), _of_span(one, "Inputs", None))
        for one in spans
        if _of_span(one, "Type", "") == "TOOL"
    ]
    turns = objects(as_object(request).get("messages"))
    messages = [message(one.get("role"), one.get("content")) for one in turns]
    verdicts: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    target = None
    for one in _assessments(row):
        judge = str(one.get("assessment_name", one.get("name")))
        if "expectation" in one and one["expectation"] is not None:
            target = as_text(_value(one["expectation"]))
        elif _is_human(one):
            said = _value(one.get("feedback"))  # in the words of verdicts: pass and fail
            hidden[f"label@{judge}"] = PASS_FAIL[said] if isinstance(said, bool) else said
        else:
            verdicts[judge] = _value(one.get("feedback"))
            hidden[f"explanation@{judge}"] = as_text(one.get("rationale"))
    shown = {
        "input": _line(messages[-1]["content"] if messages else request),
        "messages": messages if len(messages) > 1 else None,
        "tool_calls": calls or None,
        "output": _line(response),
        "target": target,
    }
    name = info.get("trace_id") or info.get("request_id") or row.get("trace_id")
    hidden |= {"state": as_text(info.get("state", row.get("state")))}
    tags = as_object(info.get("tags")).items()
    hidden |= flatten({name: one for name, one in tags if not name.startswith("mlflow.")}, "tag")
    return Item(as_text(name), shown, verdicts, hidden)


def _trace(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trace of a row, which search_traces writes as JSON; empty if there is none."""
    if isinstance(row.get("info"), Mapping):
        return row
    trace = _parse(row.get("trace"))
    if isinstance(trace, Mapping) and isinstance(trace.get("info"), Mapping):
        return trace
    return {"info": {"trace_id": row["trace_id"]}} if row.get("trace_id") else {}


def _of_span(span: Mapping[str, Any], name: str, otherwise: object) -> Any:  # noqa: ANN401
    """An attribute of a span, which is JSON in itself."""
    value = as_object(span.get("attributes")).get(f"mlflow.span{name}")
    return _parse(otherwise if value is None else value)


def _assessments(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    info = as_object(_trace(row).get("info"))
    given = objects(info.get("assessments", _parse(row.get("assessments"))))
    return [one for one in given if one.get("valid") is not False]


def _is_human(assessment: Mapping[str, Any]) -> bool:
    """True for feedback of a person."""
    kind = as_object(assessment.get("source")).get("source_type")
    return kind == "HUMAN" and assessment.get("expectation") is None


def _value(part: object) -> Any:  # noqa: ANN401
    return part.get("value") if isinstance(part, Mapping) else part


def _line(value: object) -> str | None:
    """An object with a single text as that text."""
    if isinstance(value, Mapping) and len(value) == 1:
        (only,) = value.values()
        return only if isinstance(only, str) else as_text(value)
    return as_text(value)


def _parse(value: object) -> Any:  # noqa: ANN401
    """The value of JSON in a text; a text that is no JSON as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value
