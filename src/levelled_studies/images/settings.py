"""The sizes of the image experiments: Table 1 of the paper, and what two cores can run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from levelled._check import whole
from levelled_studies.study import StudySettings

__all__ = [
    "CPU",
    "PAPER",
    "SMOKE",
    "BiasSettings",
    "ImageSettings",
    "NetworkSettings",
    "differences",
]


@dataclass(frozen=True, slots=True)
class NetworkSettings(StudySettings):
    """Table 1's settings of the images, the networks and their training."""

    trajectories: int = 45
    size: int = 28
    """Pixels on a side: 28, or 16."""
    images: int | None = None
    """At most so many images in pool, validation set and test set each; None: all."""
    training_samples: int = 8
    test_samples: int = 8
    acquisition_samples: int = 100
    steps: int | None = None
    """Training steps at most; None: 100 epochs, of 1,000 copies of points that were drawn."""
    dropout_steps: int | None = None
    """The same for networks with dropout, which take longer to fit."""
    check_every: int | None = None
    """Steps between looks at the validation set; None: an epoch."""
    patience: int = 20
    """Looks without improvement before training stops."""
    learning_rate: float = 5e-4
    batch_size: int = 64
    device: str = "cpu"
    """The device that trains networks, such as "cuda"."""


@dataclass(frozen=True, slots=True)
class ImageSettings(NetworkSettings):
    """Table 1's settings of active learning."""

    start: int = 10
    """Points drawn uniformly before the network chooses."""
    budget: int = 70
    every: int = 3
    """New points between two checkpoints at which networks are trained and tested."""

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=2)

    def made_of(self) -> Mapping[str, object]:
        """The settings that determine a trajectory: all but the number of them and the device."""
        names = {field.name for field in fields(ImageSettings)} - {"trajectories", "device"}
        return {name: value for name, value in asdict(self).items() if name in names}


@dataclass(frozen=True, slots=True)
class BiasSettings(NetworkSettings):
    """The network is trained once on `train` points of the pool, then draws from the test set."""

    trajectories: int = 1000
    train: int = 1000
    budget: int = 300
    """The largest number of test points drawn."""

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=10)


PAPER = ImageSettings()
CPU = replace(
    PAPER,
    trajectories=8,
    size=16,
    every=6,
    training_samples=4,
    test_samples=4,
    acquisition_samples=20,
    steps=120,
    dropout_steps=480,
    check_every=30,
    patience=2,
    learning_rate=2e-3,
)
SMOKE = replace(
    CPU,
    trajectories=2,
    images=60,
    start=4,
    budget=8,
    every=2,
    training_samples=2,
    test_samples=2,
    acquisition_samples=4,
    steps=4,
    dropout_steps=4,
    check_every=2,
    patience=1,
)


_WORDS = {
    "size": "pixels a side",
    "images": "images of each set",
    "steps": "training steps",
    "dropout_steps": "training steps with dropout",
    "check_every": "steps between looks at the validation set",
    "start": "starting points",
    "budget": "points",
    "every": "points between checkpoints",
}
_UNSET = {
    "images": "all",
    "steps": "100 epochs",
    "dropout_steps": "100 epochs",
    "check_every": "an epoch",
}


def differences(settings: NetworkSettings, paper: NetworkSettings = PAPER) -> str:
    """The differences from Table 1, for a caption; trajectories are given beside it.

    >>> differences(replace(PAPER, size=16, steps=300))
    'pixels a side 16 (Table 1: 28), training steps 300 (100 epochs)'
    """
    changes = [
        f"{_WORDS.get(name, name.replace('_', ' '))} {getattr(settings, name)} "
        f"({{}}{_UNSET[name] if value is None else value})"
        for name, value in asdict(paper).items()
        if name not in ("seed", "trajectories", "device") and getattr(settings, name) != value
    ]
    return (
        ", ".join(text.format("Table 1: " if at == 0 else "") for at, text in enumerate(changes))
        or "as in Table 1"
    )
