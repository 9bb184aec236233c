import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from bayes.samples import QUICK, pictures, points
from levelled.bayes import DropoutClassifier, RadialClassifier
from levelled.errors import InputError


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        (RadialClassifier, {"classes": np.array(["ash", "elm", "fir", "oak"])}),
        (RadialClassifier, {"scaling": (1.0, 2.0)}),
        (DropoutClassifier, {"rate": 0.2, "consistent": True}),
    ],
)
def test_a_saved_model_comes_back_as_it_was(
    kind: type[RadialClassifier] | type[DropoutClassifier], extra: dict[str, Any], tmp_path: Path
) -> None:
    X, y = points()
    model = kind("mlp", **QUICK, **extra).fit(X, y, validation=(X, y))
    model.save(tmp_path / "model.pt")
    back = kind.load(tmp_path / "model.pt")
    np.testing.assert_array_equal(back.sample_proba(X, 5), model.sample_proba(X, 5))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.validation_losses_ == model.validation_losses_
    assert back.get_params() | {"classes": None} == model.get_params() | {"classes": None}


def test_an_image_model_with_numbered_classes_is_saved_too(tmp_path: Path) -> None:
    X, y = pictures()
    model = RadialClassifier("cnn", **QUICK).fit(X, y)
    model.save(str(tmp_path / "model.pt"))
    back = RadialClassifier.load(str(tmp_path / "model.pt"), device="cpu")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_what_would_run_code_is_refused_unrun(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    (tmp_path / "pickled.pt").write_bytes(pickle.dumps({"settings": Trap()}))
    torch.save({"settings": Trap()}, tmp_path / "torch.pt")
    for name in ("pickled.pt", "torch.pt"):
        with pytest.raises(InputError, match="is no saved classifier of Levelled"):
            RadialClassifier.load(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    X, y = points()
    RadialClassifier("mlp", **QUICK).fit(X, y).save(tmp_path / "model.pt")
    with pytest.raises(InputError, match="holds a RadialClassifier, not a DropoutClassifier"):
        DropoutClassifier.load(tmp_path / "model.pt")
    with pytest.raises(InputError, match="There is no file"):
        RadialClassifier.load(tmp_path / "nothing.pt")
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(InputError, match="is no saved classifier"):
        RadialClassifier.load(tmp_path / "text.pt")
    torch.save({"settings": json.dumps({"format": 9})}, tmp_path / "later.pt")
    with pytest.raises(InputError, match="has format 9; this version of Levelled reads format 1"):
        RadialClassifier.load(tmp_path / "later.pt")
    with pytest.raises(InputError, match="cannot be written"):
        RadialClassifier("mlp", **QUICK).fit(X, y).save(tmp_path / "no" / "folder" / "model.pt")
    with pytest.raises(InputError, match="call fit first"):
        RadialClassifier("mlp").save(tmp_path / "empty.pt")
