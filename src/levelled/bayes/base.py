"""What all classifiers with a posterior share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Generator, Tensor

from levelled._check import FloatArray, floats, whole
from levelled.bayes.devices import Device, at_hand, check_device
from levelled.bayes.inputs import Numbers, Scaling, check_inputs, check_weights, known_classes
from levelled.bayes.networks import Network, build_network
from levelled.bayes.parameters import Parameters
from levelled.bayes.posterior import Posterior
from levelled.bayes.prediction import block_size, one_thread, sampled
from levelled.bayes.saving import Saved, read_model, write_model
from levelled.bayes.training import Schedule, TrainingSet, train
from levelled.errors import InputError
from levelled.labels import Class, class_names, class_numbers
from levelled.losses import zero_one

__all__ = ["BayesianClassifier"]


@dataclass(eq=False)
class BayesianClassifier(Parameters, ABC):
    """Parameters, training and prediction; how weights are sampled is left to subclasses."""

    network: str = "cnn"
    _: KW_ONLY
    classes: Sequence[Class] | None = None
    learning_rate: float = 5e-4
    weight_decay: float = 1e-4
    batch_size: int = 64
    max_steps: int = 2000
    check_every: int = 25
    patience: int = 20
    training_samples: int = 8
    test_samples: int = 8
    acquisition_samples: int = 100
    scaling: tuple[float, float] | None = None
    seed: int = 0
    device: Device = "cpu"

    @abstractmethod
    def _initial(self, network: Network, generator: Generator) -> Tensor:
        """What is learned, before it is."""

    @abstractmethod
    def _posterior(self, network: Network, theta: Tensor) -> Posterior: ...

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Learn from X [N, D], [N, H, W] or [N, H, W, channels] and one label an item.

        `sample_weight` multiplies the loss of each item, and the mean is over all N of them:
        with `lure_weights` the loss is the R_LURE estimate of the pool's. `validation` is a pair
        (X, y) that says when to stop; without it training takes `max_steps` steps.
        """
        schedule, generator = self._schedule(), self._generator(0)
        inputs, names = self._pair(X, y)
        weight = check_weights(sample_weight, len(names))
        held_out = self._held_out(validation, inputs.shape[1:])
        classes = known_classes(self.classes, names, *(() if held_out is None else held_out[1:2]))
        scaling = Scaling.of(inputs) if self.scaling is None else Scaling.by(self.scaling)
        network = build_network(self.network, inputs.shape[1:], len(classes))
        posterior = self._posterior(network, self._initial(network, generator))
        encode = partial(_examples, classes=classes, scaling=scaling, device=self.device)
        checks = None if held_out is None else encode(*held_out)
        with one_thread():
            losses = train(posterior, encode(inputs, names, weight), checks, schedule, generator)
        self.classes_, self.scaling_ = classes, scaling
        self.posterior_, self.validation_losses_ = posterior, losses
        return self

    def sample_proba(self, X: ArrayLike, n_samples: int | None = None) -> NDArray[np.float32]:
        """Probabilities [N, K, classes] under K samples of the posterior, as scores take them.

        The same samples at every call with the same K, and for every item unless each has its
        own dropout.
        """
        n_samples = self.acquisition_samples if n_samples is None else n_samples
        K = whole("n_samples", n_samples, least=1)
        inputs = self._inputs(X)
        found = np.empty((len(inputs), K, len(self.classes_)), np.float32)
        return self._filled(found, inputs, K, lambda proba: proba.transpose(0, 1))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities [N, classes]: the mean over `test_samples` samples of the posterior."""
        K = whole("test_samples", self.test_samples, least=1)
        inputs = self._inputs(X)
        found = np.empty((len(inputs), len(self.classes_)))
        return self._filled(found, inputs, K, lambda proba: proba.double().mean(dim=0))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each item."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of items whose likeliest class is their label, as scikit-learn asks for it."""
        right = 1 - zero_one(y, self.predict(X))
        weights = None if sample_weight is None else floats("sample_weight", sample_weight, ndim=1)
        return float(np.average(right, weights=weights))

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one file; `load` reads it."""
        self._check_fitted()
        saved = Saved(
            kind=type(self).__name__,
            params=self.get_params(),
            classes=self.classes_.tolist(),
            dtype=self.classes_.dtype.str,
            input_shape=self.posterior_.network.input_shape,
            validation_losses=self.validation_losses_,
            theta=self.posterior_.theta.cpu(),
            mean=torch.tensor(self.scaling_.mean),
            std=torch.tensor(self.scaling_.std),
        )
        write_model(path, saved)

    @classmethod
    def load(cls, path: str | Path, *, device: Device | None = None) -> Self:
        """Read a fitted classifier that `save` wrote, onto `device`.

        Without one it goes onto the device it was on, or onto the CPU where there is no such one.
        """
        saved = read_model(path)
        if saved.kind != cls.__name__:
            raise InputError(f"{str(path)!r} holds a {saved.kind}, not a {cls.__name__}.")
        model = cls().set_params(**saved.params)
        if model.scaling is not None:
            model.scaling = (model.scaling[0], model.scaling[1])
        model.device = at_hand(model.device) if device is None else check_device(device)
        model.classes_ = np.asarray(saved.classes, saved.dtype)
        model.scaling_ = Scaling(saved.mean.numpy(), saved.std.numpy())
        network = build_network(model.network, saved.input_shape, len(model.classes_))
        model.posterior_ = model._posterior(network, saved.theta.to(model.device))
        model.validation_losses_ = saved.validation_losses
        return model

    def _filled(
        self, found: Numbers, inputs: Numbers, n_samples: int, of: Callable[[Tensor], Tensor]
    ) -> Numbers:
        """Put something of the sampled probabilities into `found`, block by block."""
        size = block_size(self.posterior_)
        starts = range(0, len(inputs), size)
        blocks = (self.scaling_.tensor(inputs[at : at + size], self.device) for at in starts)
        with one_thread(), torch.inference_mode():
            drawn = sampled(self.posterior_, blocks, n_samples, self._generator(1))
            for at, proba in zip(starts, drawn, strict=True):
                found[at : at + size] = of(proba).cpu().numpy()
        return found

    def _inputs(self, X: ArrayLike) -> Numbers:
        self._check_fitted()
        shape = self.posterior_.network.input_shape
        return check_inputs(X, images=self.network == "cnn", shape=shape)

    def _held_out(
        self, validation: tuple[ArrayLike, ArrayLike] | None, shape: tuple[int, ...]
    ) -> tuple[Numbers, NDArray[Any], FloatArray] | None:
        if validation is None:
            return None
        try:
            X, y = validation
        except (TypeError, ValueError) as wrong:
            raise InputError("validation must be a pair: inputs and labels held out.") from wrong
        inputs, names = self._pair(X, y, shape)
        return inputs, names, check_weights(None, len(names))

    def _pair(
        self, X: ArrayLike, y: ArrayLike, shape: tuple[int, ...] | None = None
    ) -> tuple[Numbers, NDArray[Any]]:
        """Inputs and labels of as many items, one or more."""
        inputs = check_inputs(X, images=self.network == "cnn", shape=shape)
        names = class_names("y", y)
        if len(inputs) != len(names) or not len(names):
            raise InputError(
                f"One label an item is needed, and one item or more: X has {len(inputs)} items, "
                f"y {len(names)} labels."
            )
        return inputs, names

    def _schedule(self) -> Schedule:
        return Schedule(**{field.name: getattr(self, field.name) for field in fields(Schedule)})

    def _generator(self, stream: int) -> Generator:
        """Random numbers of this classifier alone: those of training, or of prediction."""
        seed = np.random.SeedSequence([whole("seed", self.seed, least=0), stream])
        generator = Generator(check_device(self.device))
        return generator.manual_seed(int(seed.generate_state(1)[0]))

    def _check_fitted(self) -> None:
        if not hasattr(self, "posterior_"):
            raise InputError(f"This {type(self).__name__} knows nothing yet: call fit first.")


def _examples(
    inputs: Numbers,
    names: NDArray[Any],
    weight: FloatArray,
    *,
    classes: NDArray[Any],
    scaling: Scaling,
    device: Device,
) -> TrainingSet:
    label = class_numbers("y", names, classes.tolist())
    return TrainingSet(
        scaling.tensor(inputs, device),
        torch.from_numpy(label).to(device),
        torch.from_numpy(weight.astype(np.float32)).to(device),
    )
