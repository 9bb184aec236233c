"""Draw without replacement, in proportion to frozen weights."""

from numpy.typing import ArrayLike

from levelled.draws import Draws
from levelled.samplers.design import with_design
from levelled.samplers.parts import finish, part

__all__ = ["race"]


def race(
    weights: ArrayLike,
    k: int,
    *,
    seed: int,
    log: bool = False,
    design: bool = False,
    allow_zero: bool = False,
) -> Draws:
    """Draw k items one after the other, each in proportion to its weight among those left.

    That is an exponential race: item i finishes after an exponential time of rate w_i, and the
    first k to finish are the draws, in order. The m-th draw has the probability

        q_m = w_m / (sum of the weights not drawn before it)

    The draws depend on the weights and the seed alone, and the first draws of a longer race are
    those of a shorter one. A pool of 20 million costs little more than reading it.

    `log=True` takes log-weights of any range, such as `boltzmann` exponents; -inf is weight zero.
    Items of weight zero are refused unless `allow_zero`, and are then counted in `excluded`.
    `design=True` adds the columns of `with_design`.

    >>> race([1.0, 2.0, 3.0, 4.0], k=2, seed=7)
    Draws(2 of 4, probabilities 0.3 to 0.571)
    """
    draws = finish(part(weights, k, seed=seed, log=log, allow_zero=allow_zero))
    return with_design(draws, weights, log=log) if design else draws
