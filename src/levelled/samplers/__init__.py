"""Weights -> draws: the items to label, in order, each with its probability.

`race` is for weights that do not change, `sequential` for proposals that change after every draw.
`race_batches` runs over Arrow batches that do not fit in memory together; `part`, `merge` and
`finish` run one race over pools that no single call can hold. `race_part` does so by key, for
engines: its draws depend on seed, ids and weights alone. `select_statement` writes the SELECT by
which a database draws the same rows, `draws_from_result` reads its result.
"""

from levelled.samplers.frozen import (
    ClassChance,
    FrozenProposal,
    PoolSlices,
    RunProposal,
    with_design,
)
from levelled.samplers.keyed import race_part
from levelled.samplers.race import RacePart as Part
from levelled.samplers.race import finish, merge, part, race, race_batches
from levelled.samplers.sequential import Draw, Proposal, adaptive, sequential
from levelled.samplers.sql import draws_from_result, select_statement

__all__ = [
    "ClassChance",
    "Draw",
    "FrozenProposal",
    "Part",
    "PoolSlices",
    "Proposal",
    "RunProposal",
    "adaptive",
    "draws_from_result",
    "finish",
    "merge",
    "part",
    "race",
    "race_batches",
    "race_part",
    "select_statement",
    "sequential",
    "with_design",
]
