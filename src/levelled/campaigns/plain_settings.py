"""Checks of the settings in a log: those of a newer version, and those that no version writes."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field
from types import NoneType
from typing import Any

from levelled.errors import CampaignError

KINDS = ("adaptive", "static", "uniform")
"""The ways to draw items."""

FORMAT = 1
"""The format of the log; a newer Levelled may write another."""


def check_plain(values: Mapping[str, Any], known: Sequence[Field[Any]]) -> None:
    """Refuse settings that this version does not know, and values that no version writes."""
    name, unknown = values.get("name"), sorted({*values} - {one.name for one in known})
    what = [f"the setting {one!r}" for one in unknown]
    what += [f"format {values['format']!r}"] if values.get("format", FORMAT) != FORMAT else []
    what += [
        f"{key} {values[key]!r}"
        for key, choices in _CHOICES.items()
        if values.get(key, "") not in choices
    ]
    if what:
        raise CampaignError(
            f"{name!r} was made by a newer Levelled: this one does not know {what[0]}. Update "
            f"with: pip install --upgrade levelled"
        )
    _check_values(values, known)


def _check_values(values: Mapping[str, Any], known: Sequence[Field[Any]]) -> None:
    """Refuse settings that lack a value, or have one of another type."""
    name = values.get("name")
    for one in known:
        required = one.default is MISSING and one.default_factory is MISSING
        if one.name not in values and required:
            raise CampaignError(f"The settings of {name!r} lack {one.name}. {_ALTERED}")
        kinds = _KINDS_OF_VALUES.get(one.name, (object,))
        if one.name in values and not isinstance(values[one.name], kinds):
            raise CampaignError(
                f"The settings of {name!r} have {values[one.name]!r:.80} as {one.name}. {_ALTERED}"
            )


_ALTERED = "The database was changed by something else. Go back to a backup."
_CHOICES = {"kind": ("", *KINDS), "guarantee": ("", "asymptotic", "finite")}
_KINDS_OF_VALUES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("name", "fingerprint", "model_name", "score", "proposal", "guidelines"), (str,)
    ),
    **dict.fromkeys(("pool_size", "seed", "n_sampled", "lease_seconds", "in_flight"), (int,)),
    **dict.fromkeys(("level", "floor"), (int, float)),
    **dict.fromkeys(
        ("metrics", "models", "slices", "features", "looks", "questions", "pair"), (list, tuple)
    ),
    **dict.fromkeys(("slice_counts", "pred_counts", "content", "columns"), (dict,)),
    "classes": (list, tuple, NoneType),
    "source": (str, list, NoneType),
    "images": (str, NoneType),
    "budget": (int, NoneType),
    "target_width": (int, float, NoneType),
    "numeric": (bool,),
    "group": (str, NoneType),
    "n_groups": (int, NoneType),
}
