"""The differences of the image studies that were run from Table 1 of the paper, as a table."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from levelled_studies.images.layout import FIGURES
from levelled_studies.images.networks import n_weights
from levelled_studies.images.settings import EPOCHS, PAPER, NetworkSettings

__all__ = ["DROPOUT", "KL", "WEIGHT_DECAY", "settings_table"]

KL, WEIGHT_DECAY, DROPOUT = 0.1, 1e-4, 0.5
"""Values that Table 1 does not give; they are the defaults of `levelled_studies.bayes`."""

Settings = Mapping[str, object]

_WORDS = {
    "size": "pixels a side",
    "weights": "weights of the CNN",
    "images": "images of each set",
    "training_samples": "samples of the posterior for a training step",
    "test_samples": "for a test",
    "acquisition_samples": "for BALD",
    "learning_rate": "learning rate",
    "batch_size": "batch",
    "steps": "training steps at most",
    "dropout_steps": "the same with dropout",
    "check_every": "steps between looks at the validation loss",
    "patience": "looks without improvement before training stops",
    "start": "starting points",
    "budget": "points in all",
    "every": "points between checkpoints",
}


def settings_table(results: Path) -> str:
    """A column for each group of results with the same settings, beside that of Table 1.

    Settings that agree with Table 1 everywhere are left out.
    """
    groups = _groups(results)
    columns = [_values(settings) for settings in groups.values()]
    paper = _values({name: getattr(PAPER, name) for name in _WORDS if name != "weights"})
    rows = [
        [words, paper[name], *(column.get(name, "") for column in columns)]
        for name, words in _WORDS.items()
        if any(column.get(name, paper[name]) != paper[name] for column in columns)
    ]
    return _markdown(["", "Table 1", *groups], rows) if groups else ""


def _groups(results: Path) -> dict[str, Settings]:
    """The settings of finished image studies, under the figures that show their results."""
    kept: dict[str, list[str]] = {}
    for figure in FIGURES:
        for folder in figure.folders:
            path = results / folder / "settings.json"
            settings = json.loads(path.read_text()) if path.exists() else {}
            if "size" not in settings:
                continue
            own = {name: settings[name] for name in _WORDS if name in settings}
            numbers = kept.setdefault(json.dumps(own), [])
            if figure.number and figure.number not in numbers:
                numbers.append(figure.number)
    return {
        f"Figure{'s' * (len(numbers) > 1)} {', '.join(numbers)} ({own['size']} pixels)": own
        for text, numbers in kept.items()
        for own in [json.loads(text)]
    }


def _values(settings: Settings) -> dict[str, str]:
    """Settings as text; steps and looks that are not set are those of the paper's epochs."""
    epoch = NetworkSettings(batch_size=int(str(settings["batch_size"]))).epoch
    unset = {
        "images": "all",
        "steps": f"{EPOCHS * epoch:,} ({EPOCHS} epochs of {epoch} steps)",
        "dropout_steps": f"{EPOCHS * epoch:,}",
        "check_every": f"{epoch} (an epoch)",
    }
    values = {name: unset[name] if v is None else f"{v:,}" for name, v in settings.items()}
    return values | {"weights": f"{n_weights('cnn', int(str(settings['size']))):,}"}


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
