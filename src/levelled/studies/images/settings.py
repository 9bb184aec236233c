"""The sizes of the image experiments: Table 1 of the paper, and what two cores can run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from levelled._check import whole
from levelled.studies.study import Settings

__all__ = ["CPU", "PAPER", "SMOKE", "ImageSettings", "differences"]


@dataclass(frozen=True, slots=True)
class ImageSettings(Settings):
    """Table 1, and the number of trajectories."""

    trajectories: int = 45
    size: int = 28
    """Pixels on a side: 28, or 16."""
    images: int | None = None
    """At most so many images in pool, validation set and test set each; None: all."""
    start: int = 10
    """Points drawn uniformly before the network chooses."""
    budget: int = 70
    every: int = 3
    """New points between two checkpoints at which networks are trained and tested."""
    training_samples: int = 8
    test_samples: int = 8
    acquisition_samples: int = 100
    steps: int = 15_600
    """Training steps at most: 100 epochs of 1,000 copies of ten points."""
    check_every: int = 156
    """Steps between looks at the validation set."""
    patience: int = 20
    """Looks without improvement before training stops."""
    learning_rate: float = 5e-4
    batch_size: int = 64

    def __post_init__(self) -> None:
        whole("trajectories", self.trajectories, least=1)

    def made_of(self) -> Mapping[str, object]:
        """What the numbers of one trajectory depend on: all but how many there are."""
        names = {field.name for field in fields(ImageSettings)} - {"trajectories"}
        return {name: value for name, value in asdict(self).items() if name in names}


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
    check_every=2,
    patience=1,
)


def differences(settings: ImageSettings) -> str:
    """What differs from Table 1, in words for a caption; trajectories are told beside it.

    >>> differences(replace(PAPER, size=16, steps=300))
    'size 16 (Table 1: 28), steps 300 (15600)'
    """
    told = [
        f"{name.replace('_', ' ')} {value} ({{}}{getattr(PAPER, name)})"
        for name, value in settings.made_of().items()
        if name != "seed" and value != getattr(PAPER, name)
    ]
    return (
        ", ".join(text.format("Table 1: " if at == 0 else "") for at, text in enumerate(told))
        or "as in Table 1"
    )
