"""Small blocks, so that a pool of ten rows goes through everything a large one does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from levelled.samplers import blocks


class Layout(NamedTuple):
    block: int
    strip: int
    rounds: tuple[int, ...]


REAL = Layout(blocks.BLOCK, blocks.STRIP, blocks.ROUNDS)
TINY = Layout(4, 2, (2,))  # two arrivals, then row by row
LONG = Layout(4, 2, (2, 30))  # most rows come as arrivals, many of them again and again
LAYOUTS = pytest.mark.parametrize("layout", [REAL, TINY, LONG], ids=["real", "tiny", "long"])


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", layout.block)
        patch.setattr(blocks, "STRIP", layout.strip)
        patch.setattr(blocks, "CHUNK", 2 if layout.block < 100 else blocks.CHUNK)
        patch.setattr(blocks, "ROUNDS", layout.rounds)
        yield
