"""The networks of the image experiments, at the size of the settings."""

from typing import TYPE_CHECKING, Literal

from levelled_studies.images.settings import EPOCHS, NetworkSettings

if TYPE_CHECKING:
    from levelled_studies.bayes import DropoutClassifier, RadialClassifier

__all__ = ["Kind", "classifier", "n_weights"]

Kind = Literal["cnn", "dropout", "mlp"]
"""The paper's convolutional network with a radial posterior or with MC dropout, or 50 units."""


def classifier(
    kind: str, settings: NetworkSettings, *, seed: int
) -> "RadialClassifier | DropoutClassifier":
    """A network that has learned nothing yet, for ten classes of normalised images.

    Torch is loaded here, so that studies can be listed without it.
    """
    from levelled_studies.bayes import DropoutClassifier, RadialClassifier

    make: type[RadialClassifier | DropoutClassifier] = (
        DropoutClassifier if kind == "dropout" else RadialClassifier
    )
    steps = settings.dropout_steps if kind == "dropout" else settings.steps
    return make(
        "mlp" if kind == "mlp" else "cnn",
        classes=range(10),
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        max_steps=steps or EPOCHS * settings.epoch,
        check_every=settings.check_every or settings.epoch,
        patience=settings.patience,
        training_samples=settings.training_samples,
        test_samples=settings.test_samples,
        scaling=(0.0, 1.0),
        device=settings.device,
        seed=seed,
    )


def n_weights(kind: str, size: int) -> int:
    """Weights and biases of a network for images of so many pixels a side."""
    from levelled_studies.bayes.networks import build_network

    return build_network("mlp" if kind == "mlp" else "cnn", (size, size, 1), 10).n_weights
