"""Classifiers that know what they do not know."""

import math
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Generator, Tensor

from levelled._check import between
from levelled.bayes.base import BayesianClassifier
from levelled.bayes.dropout import DropoutPosterior
from levelled.bayes.networks import Network
from levelled.bayes.posterior import Posterior
from levelled.bayes.radial import RadialPosterior
from levelled.errors import InputError

__all__ = ["DropoutClassifier", "RadialClassifier"]


@dataclass(eq=False)
class RadialClassifier(BayesianClassifier):
    """A radial Bayesian network, trained by variational inference.

    Network and defaults are those of Farquhar, Gal and Rainforth (2021), Table 1; what it leaves
    out is as in the authors' code: the KL divergence counts by `kl_scale`, a tenth, and all that
    is learned decays by `weight_decay`.

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

    Units are left out with probability `rate`: other ones for each input, or with `consistent`
    the same ones for all inputs of a sample, as mutual information over a pool needs it.

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
