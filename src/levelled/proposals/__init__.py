"""Interest -> probabilities: how likely each item still in the pool is to be drawn next.

A proposal takes the scores of the items left and returns their probabilities, which sum to one. It
knows nothing of models. None may give 0 to an item that is left, because no weighting can make up
for an item that is never drawn; `allow_zero=True` says that this is meant.
"""

from levelled.proposals.floor import mixture, uniform
from levelled.proposals.greedy import epsilon_greedy
from levelled.proposals.optimum import optimal, optimal_for_gradient
from levelled.proposals.proportion import power, proportional
from levelled.proposals.ranking import rank
from levelled.proposals.softmax import boltzmann
from levelled.proposals.support import checked

__all__ = [
    "boltzmann",
    "checked",
    "epsilon_greedy",
    "mixture",
    "optimal",
    "optimal_for_gradient",
    "power",
    "proportional",
    "rank",
    "uniform",
]
