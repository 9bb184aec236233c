"""A module of somebody's own losses, as `package.module:function` names them."""

import sys
from pathlib import Path

import pytest

MODULE = """
import numpy as np

def doubled(labels, pred):
    return 2.0 * (labels != pred)

doubled.bounds = (0, 2)

def gain(labels, pred):
    return (labels == pred).astype(float)

gain.higher_is_better = True

def total(labels, pred):
    return 1.0

def texts(labels, pred):
    return ["a"] * len(labels)

def gaps(labels, pred):
    return np.full(len(labels), np.nan)

def breaks(labels, pred):
    raise RuntimeError("no\\nluck")

def too_much(labels, pred):
    return np.full(len(labels), 3.0)

too_much.bounds = (0, 1)

def backwards(labels, pred):
    return labels

backwards.bounds = (1, 0)
constant = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules `own_losses` and `own_broken`."""
    (tmp_path / "own_losses.py").write_text(MODULE)
    (tmp_path / "own_broken.py").write_text("raise RuntimeError('broken\\nmodule')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_losses", raising=False)
