"""Results are those that the golden files hold; `write.py` says where they come from.

On the machine and with the versions that wrote the files, numbers are compared to the last bit;
elsewhere, and for pools that are read in runs, whose sums depend on the size of a run, to rounding.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from golden.surface import written_with
from golden.write import FILES, PRODUCED, path_of, produce

pytest.importorskip("sklearn")

SAME_MACHINE = json.loads((FILES / "written_with.json").read_text()) == written_with()
ROUNDING = 1e-6
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?")


@pytest.mark.parametrize("name", PRODUCED)
def test_results_are_those_of_the_golden_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / "cache"))
    for variable in ("LEVELLED_STORAGE", "LEVELLED_OWNER", "LEVELLED_FORMAT"):
        monkeypatch.delenv(variable, raising=False)
    expected = json.loads(path_of(name).read_text())
    exact = SAME_MACHINE and not name.startswith("streamed")
    found = differences(expected, produce(name, tmp_path), 0.0 if exact else ROUNDING)
    assert not found, "\n".join(found[:20])


def test_a_difference_in_the_last_bit_is_found() -> None:
    assert differences({"a": [0.1]}, {"a": [0.1]}, 0.0) == []
    assert differences({"a": [0.1]}, {"a": [0.1 + 2**-56]}, 0.0) == [
        ".a[0]: 0.1 became 0.10000000000000002"
    ]
    assert differences({"a": [0.1]}, {"a": [0.1 + 2**-56]}, ROUNDING) == []
    assert differences({"a": 1, "b": 2}, {"a": True, "c": 2}, 0.0) == [
        ": 'b' is gone",
        ": 'c' is new",
        ".a: 1 became True",
    ]


def differences(then: Any, now: Any, rounding: float, place: str = "") -> list[str]:  # noqa: ANN401
    """Where two JSON values differ, the first places first."""
    if isinstance(then, dict) and isinstance(now, dict):
        found = [f"{place}: {key!r} is gone" for key in then.keys() - now.keys()]
        found += [f"{place}: {key!r} is new" for key in now.keys() - then.keys()]
        for key in then:
            if key in now and not (rounding and key == "digest"):
                found += differences(then[key], now[key], rounding, f"{place}.{key}")
        return found
    if isinstance(then, list) and isinstance(now, list):
        found = [] if len(then) == len(now) else [f"{place}: {len(then)} became {len(now)}"]
        for at, (one, other) in enumerate(zip(then, now, strict=False)):
            found += differences(one, other, rounding, f"{place}[{at}]")
        return found
    same = type(then) is type(now) and _same(then, now, rounding)
    return [] if same else [f"{place}: {then!r} became {now!r}"]


def _same(then: Any, now: Any, rounding: float) -> bool:  # noqa: ANN401
    if isinstance(then, float):
        return math.isclose(then, now, rel_tol=rounding, abs_tol=rounding * 1e-6) or (
            math.isnan(then) and math.isnan(now)
        )
    if isinstance(then, str) and rounding:
        numbers = [list(map(float, NUMBER.findall(one))) for one in (then, now)]
        return NUMBER.sub("#", then) == NUMBER.sub("#", now) and all(
            _same(one, other, rounding) for one, other in zip(*numbers, strict=True)
        )
    return bool(then == now)
