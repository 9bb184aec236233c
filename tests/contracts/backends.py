"""What every backend promises, written once. Inherit and say how a backend is made."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from levelled.backends import Backend
from levelled.errors import LevelledError
from levelled.simulation import METHODS, known_losses, repeat_methods

# Functions for the workers are made inside tests: a worker cannot import a module of tests.


class BackendContract:
    """Provide a fixture `backend` that makes a backend with a number of workers."""

    def test_results_come_in_the_order_of_the_arguments(
        self, backend: Callable[[int], Backend]
    ) -> None:
        def draw(seed: int) -> float:
            return float(np.random.default_rng(seed).random())

        seeds = range(100, 60, -1)
        assert list(backend(2)(draw, seeds)) == list(map(draw, seeds))

    def test_a_simulation_gives_the_same_rows_as_in_one_process(
        self, backend: Callable[[int], Backend]
    ) -> None:
        rng = np.random.default_rng(0)
        sure = rng.beta(6, 1, 120)
        right = np.where(rng.random(120) < sure, "a", "b")
        pool = {"id": range(120), "proba_a": sure, "proba_b": 1 - sure, "y": right}
        known = known_losses(pa.table(pool), "y")
        some = {name: METHODS[name] for name in ("static", "adaptive")}
        run = partial(repeat_methods, known, some, budgets=[20], repetitions=5, seed=5)
        assert run(backend=backend(2)) == run()

    def test_an_error_of_the_work_comes_as_it_is(self, backend: Callable[[int], Backend]) -> None:
        def refuse(item: int) -> None:
            raise LevelledError(f"Item {item} is refused.")

        with pytest.raises(LevelledError, match=r"^Item 3 is refused\.$"):
            list(backend(2)(refuse, [3]))


class ClusterContract(BackendContract):
    """What backends on clusters promise beside that."""

    def test_a_worker_that_is_killed_changes_nothing(
        self, backend: Callable[[int], Backend], tmp_path: Path
    ) -> None:
        def draw(seed: int) -> float:
            return float(np.random.default_rng(seed).random())

        def die_once(seed: int) -> float:
            if seed == 11:
                try:
                    (tmp_path / "died").touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
                except FileExistsError:
                    pass
            return draw(seed)

        assert list(backend(2)(die_once, range(40))) == list(map(draw, range(40)))
        assert (tmp_path / "died").exists()

    def test_work_that_ends_every_worker_is_told_in_a_line(
        self, backend: Callable[[int], Backend]
    ) -> None:
        def die(item: int) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        with pytest.raises(LevelledError, match="ended several times"):
            list(backend(1)(die, [1]))
