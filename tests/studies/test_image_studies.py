"""The image studies at the size for tests, through the runner, on real images."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from levelled_studies import NAMES, find
from levelled_studies.images.loop import TRAJECTORIES, Way, steps
from levelled_studies.images.networks import classifier, n_weights
from levelled_studies.images.page import page
from levelled_studies.images.reading import difference, read
from levelled_studies.images.settings import PAPER, SMOKE
from levelled_studies.runner import run
from levelled_studies.study import StudyError

IMAGES = [name for name in NAMES if name.startswith("image-")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all studies of these tests keep their trajectories."""
    return tmp_path_factory.mktemp("trajectories")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("name", IMAGES)
def test_a_study_runs_and_judges_its_claims(name: str, home: Path, tmp_path: Path) -> None:
    (study,) = find(name)
    results = run(study, study.presets["smoke"], tmp_path, trajectories=home)
    assert results.claims
    assert list(tmp_path.glob("*.png"))
    assert all(claim.measured and "nan" not in claim.measured for claim in results.claims)


@pytest.mark.usefixtures("registry")
def test_a_trajectory_draws_uniformly_first_and_never_the_same_twice() -> None:
    rows = list(steps(SMOKE, Way(network="mlp").task(0), np.random.default_rng(0), ()))
    assert [row["labels"] for row in rows] == list(range(1, SMOKE.budget + 1))
    assert len({row["index"] for row in rows}) == SMOKE.budget
    left = [row["pool_size"] - row["labels"] + 1 for row in rows]
    for row, n in zip(rows[: SMOKE.start], left, strict=False):
        assert row["probability"] == pytest.approx(1 / n)
    tested = [row["labels"] for row in rows if "LURE nll" in row]
    assert tested == [4, 6, 8]


@pytest.mark.usefixtures("registry")
def test_after_uniform_draws_lure_trains_the_same_network_as_naive() -> None:
    uniform = replace(SMOKE, start=6, budget=6)
    *_, row = steps(uniform, Way(network="mlp").task(0), np.random.default_rng(0), ())
    assert row["naive nll"] == row["LURE nll"] != row["PURE nll"]


@pytest.mark.usefixtures("registry")
def test_ways_of_a_network_start_from_the_same_points_of_the_same_images(
    home: Path, tmp_path: Path
) -> None:
    (study,) = find("image-temperature")
    table = run(study, study.presets["smoke"], tmp_path, trajectories=home).table
    cold, hot = (read(table, Way(proposal=T)) for T in ("1000", "20000"))
    start = SMOKE.start
    assert np.array_equal(cold.draws["fixed_loss"][:, :start], hot.draws["fixed_loss"][:, :start])
    assert np.array_equal(cold.series["LURE nll"][:, 0], hot.series["LURE nll"][:, 0])
    assert not np.array_equal(cold.draws["probability"], hot.draws["probability"])


@pytest.mark.usefixtures("registry")
def test_a_killed_trajectory_ends_with_the_same_numbers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "levelled", "reproduce", "image-training"]
    command += ["--network", "mlp", "--preset", "smoke", "--trajectories", "2", "--out"]
    process = subprocess.Popen(
        [*command, str(tmp_path / "cut")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    journal = tmp_path / "cut/image-trajectories/parts/mnist_mlp_10000_naive_000.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 900):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert journal.exists()
    assert json.loads(journal.read_text().splitlines()[0])["labels"] == 1
    for folder in ("cut", "whole"):
        subprocess.run([*command, str(tmp_path / folder)], check=True, capture_output=True)
    tables = [
        (tmp_path / folder / "image-training/mnist-mlp/table.csv").read_bytes()
        for folder in ("cut", "whole")
    ]
    assert tables[0] == tables[1]


@pytest.mark.usefixtures("registry")
def test_the_biases_of_a_trajectory_are_those_of_its_rows(home: Path, tmp_path: Path) -> None:
    (study,) = find("image-training")
    smoke = replace(study.presets["smoke"], network="mlp")  # type: ignore[call-arg]
    table = run(study, smoke, tmp_path, trajectories=home).table
    found = read(table, Way(network="mlp"))
    rows = [row for row in table.to_pylist() if row["task"].endswith("000")]
    losses = [row["fixed_loss"] for row in rows]
    for at, labels in enumerate(found.labels):
        naive = rows[0]["fixed_risk"] - np.mean(losses[:labels])
        assert found.series["active learning bias"][0, at] == pytest.approx(naive)
        row = rows[labels - 1]
        over = row["LURE nll"] - row["LURE trained"]
        assert found.series["LURE overfitting"][0, at] == pytest.approx(over)


def test_a_difference_is_paired() -> None:
    found = difference(np.array([[1.0], [11.0]]), np.array([[0.5], [10.5]]))
    assert (found.mean, found.stderr) == (0.5, 0.0)


def test_an_epoch_is_a_thousand_items_in_all() -> None:
    model = classifier("cnn", PAPER, seed=0)
    assert (model.max_steps, model.check_every, model.patience) == (1600, 16, 20)


def test_the_small_network_has_a_quarter_of_the_weights() -> None:
    assert [n_weights(kind, 28) for kind in ("cnn", "dropout", "mlp")] == [80_202, 80_202, 39_760]
    assert [n_weights(kind, 16) for kind in ("cnn", "dropout", "mlp")] == [18_762, 18_762, 13_360]


@pytest.mark.usefixtures("registry")
def test_a_fixed_network_that_chooses_its_own_points_leaves_its_bias_at_checkpoints() -> None:
    task = Way(acquire="own").task(0)
    rows = list(steps(SMOKE, task, np.random.default_rng(0), ()))
    assert [row["labels"] for row in rows] == [4, 6, 8]
    assert list(steps(SMOKE, task, np.random.default_rng(0), rows[:1])) == rows[1:]


def test_sizes_are_kept_apart_and_others_refused() -> None:
    assert TRAJECTORIES.folder(SMOKE) == "image-trajectories"
    assert TRAJECTORIES.folder(PAPER) == "image-trajectories-28"
    with pytest.raises(StudyError, match=r"--size.* 16 or 28 .* 20"):
        replace(SMOKE, size=20)


def test_all_image_studies_share_their_trajectories_but_the_one_of_a_fixed_network() -> None:
    sharing = [study.name for name in IMAGES for study in find(name) if study.run is TRAJECTORIES]
    assert sharing == [name for name in IMAGES if name != "image-bias"]


def test_the_page_of_the_experiments_is_the_generated_one() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert (docs / "paper/images.md").read_text() == page(docs / "results"), (
        "write it anew: python -m levelled_studies.images.page docs/"
    )
