"""Weights -> draws: the items to label, in order, each with its probability.

`race` is for weights that do not change, `sequential` for proposals that change after every draw.
`part`, `merge` and `finish` run one race over pools that no single call can hold.
"""

from levelled.samplers.design import ClassChance, with_design
from levelled.samplers.frozen import FrozenProposal, PoolSlices, RunProposal
from levelled.samplers.race import Part, finish, merge, part, race
from levelled.samplers.sequential import Draw, Proposal, adaptive, sequential

__all__ = [
    "ClassChance",
    "Draw",
    "FrozenProposal",
    "Part",
    "PoolSlices",
    "Proposal",
    "RunProposal",
    "adaptive",
    "finish",
    "merge",
    "part",
    "race",
    "sequential",
    "with_design",
]
