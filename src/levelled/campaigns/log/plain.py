"""The fields of a campaign's state as plain JSON, by their types: a new field needs no code."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from levelled.campaigns.log.state import CampaignState

_APART = ("settings", "draws", "draw_of")
"""Fields that follow from others, or have a form of their own."""

Convert = Callable[..., Any]


def state_fields() -> list[str]:
    """The names of the fields that are kept as plain values."""
    return [one.name for one in fields(CampaignState) if one.name not in _APART]


def state_to_plain(state: CampaignState) -> dict[str, Any]:
    """The fields of a state but for its settings and draws, as plain JSON."""
    kinds = get_type_hints(CampaignState)
    return {name: _writer(kinds[name])(getattr(state, name)) for name in state_fields()}


def state_from_plain(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that `state_to_plain` wrote."""
    kinds = get_type_hints(CampaignState)
    return {name: _reader(kinds[name])(plain[name]) for name in state_fields()}


@cache
def _reader(kind: Any) -> Convert:  # noqa: ANN401
    """The function that makes a value of this type from plain JSON."""
    inner = [_reader(one) for one in get_args(kind) if one is not Ellipsis]
    if is_dataclass(kind):
        make: Convert = kind  # type: ignore[assignment]
        readers = [_reader(get_type_hints(kind)[one.name]) for one in fields(kind)]
        if all(one is _same for one in readers):
            return lambda values: make(*values)
        return lambda values: make(*(read(v) for read, v in zip(readers, values, strict=True)))
    if _is_mapping(kind):
        key = int if get_args(kind)[0] is int else _same
        if key is _same and inner[1] is _same:
            return _same
        return lambda value: {key(k): inner[1](v) for k, v in value.items()}
    if get_origin(kind) is tuple:
        if Ellipsis in get_args(kind):
            return lambda value: tuple([inner[0](one) for one in value])
        return lambda value: tuple([f(one) for f, one in zip(inner, value, strict=True)])
    return _same


@cache
def _writer(kind: Any) -> Convert:  # noqa: ANN401
    """The function that makes plain JSON of a value of this type."""
    inner = [_writer(one) for one in get_args(kind) if one is not Ellipsis]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        writers = [(one.name, _writer(hints[one.name])) for one in fields(kind)]
        return lambda value: [write(getattr(value, name)) for name, write in writers]
    if _is_mapping(kind):
        return lambda value: {str(k): inner[1](v) for k, v in value.items()}
    if get_origin(kind) is tuple:
        if Ellipsis in get_args(kind):
            return lambda value: [inner[0](one) for one in value]
        return lambda value: [f(one) for f, one in zip(inner, value, strict=True)]
    _refuse_records(kind)
    return _same


def _is_mapping(kind: Any) -> bool:  # noqa: ANN401
    return isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping)


def _refuse_records(kind: Any) -> None:  # noqa: ANN401
    """Refuse a choice between types of which one would not come back from JSON as it is."""
    if get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            if is_dataclass(one) or get_origin(one) is tuple:
                raise TypeError(f"{kind} cannot be kept in a snapshot")


def _same(value: Any) -> Any:  # noqa: ANN401
    return value
