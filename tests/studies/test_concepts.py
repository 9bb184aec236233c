"""Tests of the plot that explains the weights."""

from pathlib import Path

import numpy as np
import pytest

from levelled_studies.concepts import repeat, write

PAGE = Path(__file__).parents[2] / "docs/concepts.md"


def test_the_page_tells_what_the_plot_shows() -> None:
    result = repeat(2_000)
    page = " ".join(PAGE.read_text().split())
    assert f"naive mean comes to {result.naive.mean():.1%}" in page
    assert f"true error rate is {result.risk:.1%}" in page
    assert f"R_LURE comes to {result.lure.mean():.1%}" in page
    uniform = np.sqrt(result.risk * (1 - result.risk) / 200 * (1 - 200 / 5_000))
    assert f"standard deviation of {100 * result.lure.std():.1f}" in page
    assert f"uniformly drawn losses ({100 * uniform:.1f})" in page


def test_the_plot_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert write(tmp_path, repetitions=10).read_bytes().startswith(b"\x89PNG")
