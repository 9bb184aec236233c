"""The sizes of the image experiments: Table 1 of the paper, and what two cores can run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from levelled._check import whole
from levelled_studies.study import StudyError, StudySettings

__all__ = [
    "CPU",
    "EPOCHS",
    "EPOCH_ITEMS",
    "FULL",
    "PAPER",
    "SIZES",
    "SMALL",
    "SMOKE",
    "BiasSettings",
    "ImageSettings",
    "NetworkSettings",
]


SMALL, FULL = SIZES = (16, 28)
"""Pixels a side: averages of 2 x 2, the least that the convolutions take, and all of them."""

EPOCHS, EPOCH_ITEMS = 100, 1000
"""Table 1 trains for up to 100 epochs "with 1000 copies of data". In the authors' code an epoch is
1,000 items in all, the labels repeated as often as needed."""


@dataclass(frozen=True, slots=True)
class NetworkSettings(StudySettings):
    """Table 1's settings of the images, the networks and their training."""

    trajectories: int = 45
    size: int = FULL
    """Pixels a side."""
    images: int | None = None
    """At most so many images in pool, validation set and test set each; None: all."""
    training_samples: int = 8
    test_samples: int = 8
    acquisition_samples: int = 100
    steps: int | None = None
    """Training steps at most; None: 100 epochs."""
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

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise StudyError(f"--size must be {SMALL} or {FULL} pixels; it is {self.size}.")

    @property
    def epoch(self) -> int:
        """Steps of an epoch, the last of which may be smaller.

        >>> PAPER.epoch
        16
        """
        return -(-EPOCH_ITEMS // self.batch_size)


@dataclass(frozen=True, slots=True)
class ImageSettings(NetworkSettings):
    """Table 1's settings of active learning."""

    start: int = 10
    """Points drawn uniformly before the network chooses."""
    budget: int = 70
    every: int = 3
    """New points between two checkpoints at which networks are trained and tested."""

    def __post_init__(self) -> None:
        NetworkSettings.__post_init__(self)
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
        NetworkSettings.__post_init__(self)
        whole("trajectories", self.trajectories, least=10)


PAPER = ImageSettings()
CPU = replace(
    PAPER,
    trajectories=8,
    size=SMALL,
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
