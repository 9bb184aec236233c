"""The networks of the image experiments, at the size of the settings."""

from typing import TYPE_CHECKING, Literal, get_args

from levelled._check import choice
from levelled.studies.images.settings import ImageSettings

if TYPE_CHECKING:
    from levelled.bayes import DropoutClassifier, RadialClassifier

__all__ = ["Kind", "classifier"]

Kind = Literal["cnn", "dropout", "mlp"]
"""The paper's convolutional network with a radial posterior or with MC dropout, or 50 units."""


def classifier(
    kind: str, settings: ImageSettings, *, seed: int
) -> "RadialClassifier | DropoutClassifier":
    """A network that has learned nothing yet, for ten classes of normalised images.

    Torch is loaded here, so that studies can be listed without it.
    """
    from levelled.bayes import DropoutClassifier, RadialClassifier

    choice("--network", kind, get_args(Kind))
    make: type[RadialClassifier | DropoutClassifier] = (
        DropoutClassifier if kind == "dropout" else RadialClassifier
    )
    return make(
        "mlp" if kind == "mlp" else "cnn",
        classes=range(10),
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        max_steps=settings.steps,
        check_every=settings.check_every,
        patience=settings.patience,
        training_samples=settings.training_samples,
        test_samples=settings.test_samples,
        scaling=(0.0, 1.0),
        seed=seed,
    )
