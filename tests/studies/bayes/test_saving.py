import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from levelled.errors import InputError
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from studies.bayes.samples import QUICK, pictures, points


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        (RadialClassifier, {"classes": np.array(["ash", "elm", "fir", "oak"])}),
        (RadialClassifier, {"scaling": (1.0, 2.0)}),
        (DropoutClassifier, {"rate": 0.2, "consistent": True}),
        (DropoutClassifier, {"rate": np.float32(0.2), "consistent": np.True_}),
        (RadialClassifier, {"seed": np.int64(4), "weight_decay": np.float32(1e-3)}),
        (RadialClassifier, {"scaling": (np.float32(0.5), np.float32(2.5))}),
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


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.bool_, "U7"])
def test_classes_come_back_as_they_were(dtype: Any, tmp_path: Path) -> None:  # noqa: ANN401
    X, y = pictures()
    model = RadialClassifier("mlp", **QUICK | {"max_steps": 1}).fit(X, y.astype(dtype))
    model.save(tmp_path / "model.pt")
    back = RadialClassifier.load(tmp_path / "model.pt")
    assert back.classes_.dtype == model.classes_.dtype == np.dtype(dtype)
    assert back.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("classes", [range(3), [np.int8(0), np.int8(2)], np.arange(3.0)])
def test_classes_may_be_named_in_any_way(classes: Any, tmp_path: Path) -> None:  # noqa: ANN401
    X, y = pictures()
    model = RadialClassifier("mlp", classes=classes, **QUICK | {"max_steps": 1}).fit(X, 0 * y)
    model.save(tmp_path / "model.pt")
    back = RadialClassifier.load(tmp_path / "model.pt")
    assert back.classes == list(classes)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_a_model_of_another_machine_s_device_is_loaded_onto_the_cpu(tmp_path: Path) -> None:
    X, y = points()
    model = RadialClassifier("mlp", device=torch.device("cpu"), **QUICK).fit(X, y)
    model.save(tmp_path / "model.pt")
    assert RadialClassifier.load(tmp_path / "model.pt").device == "cpu"
    model.set_params(device="cuda:99").save(tmp_path / "far.pt")
    back = RadialClassifier.load(tmp_path / "far.pt")
    assert back.device == "cpu"
    model.set_params(device="cpu")
    np.testing.assert_array_equal(back.sample_proba(X, 3), model.sample_proba(X, 3))
    with pytest.raises(InputError, match=r"'cuda:99'.*device=\"cpu\""):
        RadialClassifier.load(tmp_path / "model.pt", device="cuda:99")


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    path = tmp_path / "model.pt"
    model.save(path)
    before = path.open("rb")  # somebody who is still reading it
    model.fit(X, y[::-1]).save(path)
    with before:
        old = torch.load(before, weights_only=True)
    assert not torch.equal(old["theta"], RadialClassifier.load(path).posterior_.theta)
    assert [each.name for each in tmp_path.iterdir()] == ["model.pt"]


def test_a_file_written_before_the_type_of_classes_was_kept_is_read(tmp_path: Path) -> None:
    X, y = points()
    model = RadialClassifier("mlp", **QUICK).fit(X, y)
    model.save(tmp_path / "model.pt")
    held = torch.load(tmp_path / "model.pt", weights_only=True)
    settings = json.loads(held["settings"])
    del settings["dtype"]
    torch.save({**held, "settings": json.dumps(settings)}, tmp_path / "old.pt")
    back = RadialClassifier.load(tmp_path / "old.pt")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize("settings", ['{"format": 1}', "{}", "5", "[]"])
def test_settings_without_all_their_parts_are_refused(settings: str, tmp_path: Path) -> None:
    torch.save({"settings": settings}, tmp_path / "part.pt")
    with pytest.raises(InputError, match="saved classifier"):
        RadialClassifier.load(tmp_path / "part.pt")


def test_what_would_run_code_is_refused_unrun(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    (tmp_path / "pickled.pt").write_bytes(pickle.dumps({"settings": Trap()}))
    torch.save({"settings": Trap()}, tmp_path / "torch.pt")
    for name in ("pickled.pt", "torch.pt"):
        with pytest.raises(InputError, match="saved classifier"):
            RadialClassifier.load(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    X, y = points()
    RadialClassifier("mlp", **QUICK).fit(X, y).save(tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"RadialClassifier.*DropoutClassifier"):
        DropoutClassifier.load(tmp_path / "model.pt")
    with pytest.raises(InputError, match="no file"):
        RadialClassifier.load(tmp_path / "nothing.pt")
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(InputError, match="saved classifier"):
        RadialClassifier.load(tmp_path / "text.pt")
    torch.save({"settings": json.dumps({"format": 9})}, tmp_path / "later.pt")
    with pytest.raises(InputError, match=r"format 9.*format 1"):
        RadialClassifier.load(tmp_path / "later.pt")
    with pytest.raises(InputError, match="cannot be written"):
        RadialClassifier("mlp", **QUICK).fit(X, y).save(tmp_path / "no" / "folder" / "model.pt")
    with pytest.raises(AttributeError, match="not fitted"):
        RadialClassifier("mlp").save(tmp_path / "empty.pt")


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (RadialClassifier, "radial.pt", [0.99789, 0.86672, 0.14496]),
        (DropoutClassifier, "dropout.pt", [0.99993, 0.95158, 0.14568]),
    ],
)
def test_a_file_of_the_first_version_is_read(
    kind: type[RadialClassifier] | type[DropoutClassifier], name: str, expected: list[float]
) -> None:
    model = kind.load(Path(__file__).parent / "first_version" / name)
    X = np.random.default_rng(3).standard_normal((20, 2)).round(2)
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_allclose(model.predict_proba(X[:3])[:, 1], expected, atol=1e-4)


def test_a_network_saved_under_the_old_name_of_its_module_is_loaded() -> None:
    code = (
        "import pickle, sys; from levelled_studies.bayes import DropoutClassifier; "
        "kept = pickle.dumps(DropoutClassifier('mlp', rate=0.25), protocol=0); "
        "old = kept.replace(b'levelled_studies.bayes', b'levelled.bayes'); "
        "assert old != kept; model = pickle.loads(old); "
        "assert type(model) is DropoutClassifier; print(model.rate)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert loaded.stdout == "0.25\n"
    assert "levelled_studies.bayes" in loaded.stderr  # the new name
