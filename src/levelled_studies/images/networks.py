"""The networks of the image experiments, at the size of the settings."""

from typing import TYPE_CHECKING, Literal

from levelled_studies.images.settings import NetworkSettings

if TYPE_CHECKING:
    from levelled.bayes import DropoutClassifier, RadialClassifier

__all__ = ["Kind", "classifier"]

Kind = Literal["cnn", "dropout", "mlp"]
"""The paper's convolutional network with a radial posterior or with MC dropout, or 50 units."""


def classifier(
    kind: str, settings: NetworkSettings, n_points: int, *, copies: int = 1000, seed: int
) -> "RadialClassifier | DropoutClassifier":
    """A network that has learned nothing yet, for ten classes of normalised images.

    It will learn from so many points, of which Table 1 counts so many copies to an epoch. Torch
    is loaded here, so that studies can be listed without it.
    """
    from levelled.bayes import DropoutClassifier, RadialClassifier

    make: type[RadialClassifier | DropoutClassifier] = (
        DropoutClassifier if kind == "dropout" else RadialClassifier
    )
    steps = settings.dropout_steps if kind == "dropout" else settings.steps
    epoch = -(-copies * n_points // settings.batch_size)
    return make(
        "mlp" if kind == "mlp" else "cnn",
        classes=range(10),
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        max_steps=steps or 100 * epoch,
        check_every=settings.check_every or epoch,
        patience=settings.patience,
        training_samples=settings.training_samples,
        test_samples=settings.test_samples,
        scaling=(0.0, 1.0),
        device=settings.device,
        seed=seed,
    )
