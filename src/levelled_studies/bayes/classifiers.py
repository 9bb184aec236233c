"""Classifiers with a posterior over their weights, which can tell how uncertain they are."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor

from levelled._check import FloatArray, between, whole
from levelled.errors import InputError
from levelled.labels import Class, class_numbers
from levelled_studies.bayes.dropout import DropoutPosterior
from levelled_studies.bayes.inputs import (
    Device,
    Numbers,
    Scaling,
    available_device,
    check_device,
    check_inputs,
    check_labels,
    check_names,
    check_weights,
    feature_names,
    find_classes,
)
from levelled_studies.bayes.networks import Network, build_network
from levelled_studies.bayes.posterior import Posterior, block_size, one_thread, sample_proba
from levelled_studies.bayes.radial import RadialPosterior
from levelled_studies.bayes.saving import SavedClassifier, read_classifier, write_classifier
from levelled_studies.bayes.training import Schedule, TrainingSet, train


@dataclass(eq=False)
class BayesianClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Parameters, training and prediction; subclasses sample the weights."""

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
        """The initial weights."""

    @abstractmethod
    def _posterior(self, network: Network, theta: Tensor) -> Posterior: ...

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Learn from items and their labels.

        Parameters
        ----------
        X : The items, [N, D], [N, H, W] or [N, H, W, channels].
        y : One label an item.
        sample_weight : Factors of the losses, whose mean is over all N items: with `lure_weights`
            it is R_LURE, the unbiased estimate of the mean loss over the pool.
        validation : A pair (X, y) whose loss decides when to stop; without it training takes
            `max_steps` steps.
        """
        schedule = Schedule(**{one.name: getattr(self, one.name) for one in fields(Schedule)})
        generator = self._generator(0)
        inputs, names = self._pair(X, y)
        weight = check_weights(sample_weight, len(names))
        held_out = self._held_out(validation, inputs.shape[1:])
        classes = find_classes(self.classes, names, *(() if held_out is None else held_out[1:2]))
        scaling = Scaling.of(inputs) if self.scaling is None else Scaling.by(self.scaling)
        network = build_network(self.network, inputs.shape[1:], len(classes))
        posterior = self._posterior(network, self._initial(network, generator))
        encode = partial(_examples, classes=classes, scaling=scaling, device=self.device)
        checks = None if held_out is None else encode(*held_out)
        with one_thread():
            losses = train(posterior, encode(inputs, names, weight), checks, schedule, generator)
        self.classes_, self.scaling_ = classes, scaling
        self.posterior_, self.validation_losses_ = posterior, losses
        self._names = feature_names(X)
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of a classifier of rows, or of images; scikit-learn calls this."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.network != "cnn"
        tags.input_tags.three_d_array = True
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of features of an item in training, or of numbers in an image."""
        check_is_fitted(self)
        return math.prod(self.posterior_.network.input_shape)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns in training, if it was a frame that has them."""
        check_is_fitted(self)
        names: NDArray[np.object_] | None = getattr(self, "_names", None)  # unset by older versions
        if names is None:
            raise AttributeError(f"This {type(self).__name__} was fitted to columns without names.")
        return names.copy()

    def sample_proba(self, X: ArrayLike, n_samples: int | None = None) -> NDArray[np.float32]:
        """Probabilities [N, K, classes] under K samples of the posterior, as scores take them.

        Every call with the same K uses the same samples, for all items unless each has its own
        dropout.
        """
        n_samples = self.acquisition_samples if n_samples is None else n_samples
        K = whole("n_samples", n_samples, least=1)
        inputs = self._inputs(X)
        out = np.empty((len(inputs), K, len(self.classes_)), np.float32)
        return self._fill(out, inputs, K, lambda proba: proba.transpose(0, 1))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities [N, classes]: the mean over `test_samples` samples of the posterior."""
        K = whole("test_samples", self.test_samples, least=1)
        inputs = self._inputs(X)
        out = np.empty((len(inputs), len(self.classes_)))
        return self._fill(out, inputs, K, lambda proba: proba.double().mean(dim=0))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each item."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to one file; `load` reads it."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        saved = SavedClassifier(
            kind=type(self).__name__,
            params=self.get_params(),
            classes=self.classes_.tolist(),
            dtype=self.classes_.dtype.str,
            input_shape=self.posterior_.network.input_shape,
            validation_losses=self.validation_losses_,
            theta=self.posterior_.theta.cpu(),
            mean=torch.tensor(self.scaling_.mean),
            std=torch.tensor(self.scaling_.std),
            names=None if names is None else names.tolist(),
        )
        write_classifier(path, saved)

    @classmethod
    def load(cls, path: str | Path, *, device: Device | None = None) -> Self:
        """Read a fitted classifier that `save` wrote, onto `device`.

        Without one it goes onto the device it was saved from, or onto the CPU if there is none.
        """
        saved = read_classifier(path)
        if saved.kind != cls.__name__:
            raise InputError(f"{str(path)!r} holds a {saved.kind}, not a {cls.__name__}.")
        model = cls().set_params(**saved.params)
        if model.scaling is not None:
            model.scaling = (model.scaling[0], model.scaling[1])
        model.device = available_device(model.device) if device is None else check_device(device)
        model.classes_ = np.asarray(saved.classes, saved.dtype)
        model.scaling_ = Scaling(saved.mean.numpy(), saved.std.numpy())
        network = build_network(model.network, saved.input_shape, len(model.classes_))
        model.posterior_ = model._posterior(network, saved.theta.to(model.device))
        model.validation_losses_ = saved.validation_losses
        model._names = None if saved.names is None else np.array(saved.names, object)
        return model

    def _fill(
        self, out: Numbers, inputs: Numbers, n_samples: int, convert: Callable[[Tensor], Tensor]
    ) -> Numbers:
        """Write the converted samples of probabilities into `out`, block by block."""
        size = block_size(self.posterior_)
        starts = range(0, len(inputs), size)
        blocks = (self.scaling_.tensor(inputs[at : at + size], self.device) for at in starts)
        with one_thread(), torch.inference_mode():
            samples = sample_proba(self.posterior_, blocks, n_samples, self._generator(1))
            for at, proba in zip(starts, samples, strict=True):
                out[at : at + size] = convert(proba).cpu().numpy()
        return out

    def _inputs(self, X: ArrayLike) -> Numbers:
        check_is_fitted(self)
        inputs = self._checked(X, self.posterior_.network.input_shape)
        check_names(X, getattr(self, "feature_names_in_", None))
        return inputs

    def _checked(self, X: ArrayLike, shape: tuple[int, ...] | None = None) -> Numbers:
        name = type(self).__name__
        return check_inputs(X, images=self.network == "cnn", shape=shape, name=name)

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
        inputs, names = self._checked(X, shape), check_labels(y)
        if len(inputs) != len(names) or not len(names):
            raise InputError(
                f"One label an item is needed, and one item or more: X has {len(inputs)} items, "
                f"y {len(names)} labels."
            )
        return inputs, names

    def _generator(self, stream: int) -> Generator:
        """The random numbers of training (stream 0) or of prediction (stream 1)."""
        seed = np.random.SeedSequence([whole("seed", self.seed, least=0), stream])
        generator = Generator(check_device(self.device))
        return generator.manual_seed(int(seed.generate_state(1)[0]))


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


@dataclass(eq=False)
class RadialClassifier(BayesianClassifier):
    """A radial Bayesian network, trained by variational inference.

    Network and defaults are those of Farquhar, Gal and Rainforth (2021), Table 1; what the
    table leaves out is as in the authors' code: `kl_scale`, a tenth, multiplies the KL divergence,
    and `weight_decay` applies to all means and rhos.

    >>> X = [[0.0, 0.0], [0.0, 1.0], [3.0, 3.0], [3.0, 4.0]]
    >>> model = RadialClassifier("mlp", max_steps=50, learning_rate=0.01)
    >>> model.fit(X, ["near", "near", "far", "far"]).predict([[0.2, 0.2], [3.0, 3.5]])
    array(['near', 'far'], dtype='<U4')
    >>> model.sample_proba(X, 20).shape
    (4, 20, 2)
    """

    _: KW_ONLY
    kl_scale: float = 0.1
    prior_scale: float = 0.25
    initial_rho: float = -4.0

    def _initial(self, network: Network, generator: Generator) -> Tensor:
        mu = network.he(generator)
        rho = between("initial_rho", self.initial_rho, -50, 50)
        return torch.stack([mu, torch.full_like(mu, rho)])

    def _posterior(self, network: Network, theta: Tensor) -> Posterior:
        return RadialPosterior(
            network,
            theta,
            prior_scale=between("prior_scale", self.prior_scale, 0, math.inf, open_=True),
            kl_scale=between("kl_scale", self.kl_scale, 0, math.inf),
        )


@dataclass(eq=False)
class DropoutClassifier(BayesianClassifier):
    """A network with dropout that stays on when it predicts.

    Units are left out with probability `rate`: different units for each input, or with
    `consistent` the same units for all inputs of a sample, as mutual information over a pool
    needs.

    >>> X = [[0.0, 0.0], [0.0, 1.0], [3.0, 3.0], [3.0, 4.0]]
    >>> model = DropoutClassifier("mlp", consistent=True, max_steps=50, learning_rate=0.01)
    >>> model.fit(X, ["near", "near", "far", "far"]).predict([[0.2, 0.2], [3.0, 3.5]])
    array(['near', 'far'], dtype='<U4')
    """

    _: KW_ONLY
    rate: float = 0.5
    consistent: bool = False

    def _initial(self, network: Network, generator: Generator) -> Tensor:
        return network.he(generator)

    def _posterior(self, network: Network, theta: Tensor) -> Posterior:
        rate = between("rate", self.rate, 0, 1)
        if rate == 1:
            raise InputError("rate must be below 1, or every unit would be left out.")
        return DropoutPosterior(network, theta, rate=rate, consistent=bool(self.consistent))
