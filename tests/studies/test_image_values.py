"""The numbers of the image studies, worked out again from their draws with networks of our own.

The images are made up and small, so that nothing is fetched: each is noise around the picture of
its class. All else is the studies' own code, and networks trained here with the same seeds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("torch")

from levelled import scores
from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.estimators import lure_weights, pure_weights
from levelled.losses import log_loss
from levelled.proposals import boltzmann, proportional
from levelled.samplers import race
from levelled_studies.bayes import DropoutClassifier, RadialClassifier
from levelled_studies.datasets import DataSet
from levelled_studies.images import bias, data, loop
from levelled_studies.images.data import RATIOS, Images, ImageSet, image_set
from levelled_studies.images.loop import Way, steps
from levelled_studies.images.reading import read
from levelled_studies.images.settings import SMOKE, BiasSettings, ImageSettings
from levelled_studies.study import Row
from levelled_studies.tables import Curve, curves

SETTINGS = replace(
    SMOKE,
    start=3,
    budget=7,
    every=2,
    steps=6,
    dropout_steps=5,
    check_every=2,
    patience=2,
    batch_size=4,
    learning_rate=0.01,
    training_samples=3,
    test_samples=5,
    acquisition_samples=6,
)
WEIGHTS = {"naive": None, "PURE": pure_weights, "LURE": lure_weights}


def pictures(n: int, side: int, rng: np.random.Generator) -> tuple[Images, IntArray]:
    labels = rng.integers(10, size=n)
    classes = np.random.default_rng(0).normal(size=(10, side, side))
    return (classes[labels] + rng.normal(size=(n, side, side))).astype(np.float32), labels


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> ImageSet:
    """Fifteen images to draw from, which the loop takes for those of any data set."""
    rng = np.random.default_rng(5)
    made = ImageSet(*pictures(15, 4, rng), *pictures(20, 4, rng), *pictures(12, 4, rng))
    monkeypatch.setattr(loop, "image_set", lambda *names, **options: made)
    return made


def network(
    settings: ImageSettings, seed: int, kind: str = "mlp"
) -> RadialClassifier | DropoutClassifier:
    make: type[RadialClassifier | DropoutClassifier] = (
        DropoutClassifier if kind == "dropout" else RadialClassifier
    )
    return make(
        "mlp" if kind == "mlp" else "cnn",
        classes=range(10),
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        max_steps=(settings.dropout_steps if kind == "dropout" else settings.steps) or 1,
        check_every=settings.check_every or 1,
        patience=settings.patience,
        training_samples=settings.training_samples,
        test_samples=settings.test_samples,
        scaling=(0.0, 1.0),
        seed=seed,
    )


def trained(
    images: ImageSet, draws: Draws, seed: int, weights: FloatArray | None
) -> RadialClassifier | DropoutClassifier:
    X, y = images.pool[draws.index], images.pool_labels[draws.index]
    held_out = images.validation, images.validation_labels
    return network(SETTINGS, seed).fit(X, y, sample_weight=weights, validation=held_out)


def trajectory(way: Way) -> tuple[list[Row], IntArray]:
    """The rows of a trajectory, and the seeds of its networks: [labels, purpose]."""
    rows = list(steps(SETTINGS, way.task(0), np.random.default_rng(1), ()))
    seeds = np.random.default_rng(1).integers(2**31, size=(SETTINGS.budget + 1, 3))
    return rows, seeds


def draws_of(rows: Sequence[Row], pool_size: int) -> Draws:
    index = np.array([row["index"] for row in rows], np.int64)
    return Draws(index, np.array([row["probability"] for row in rows]), pool_size)


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Only the rows of checkpoints have the results of networks."""
    names = {name for row in rows for name in row}
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def test_networks_of_all_objectives_start_alike_and_are_tested_on_the_test_set(
    images: ImageSet,
) -> None:
    rows, seeds = trajectory(Way(network="mlp"))
    assert [row["labels"] for row in rows if "naive nll" in row] == [3, 5, 7]
    draws = draws_of(rows, len(images))
    for name, weights in WEIGHTS.items():
        own = None if weights is None else weights(draws)
        proba = trained(images, draws, int(seeds[7, 2]), own).predict_proba(images.test)
        chosen = proba[np.arange(12), images.test_labels]
        assert rows[-1][f"{name} nll"] == pytest.approx(-np.log(chosen).mean(), rel=1e-12)
        hits = np.mean(proba.argmax(axis=1) == images.test_labels)
        assert rows[-1][f"{name} accuracy"] == pytest.approx(hits)


def test_the_overfitting_bias_of_a_network_is_test_risk_less_lure_on_its_points(
    images: ImageSet,
) -> None:
    """R_LURE for every objective, and not its own objective or the plain mean: section 7."""
    way = Way(network="mlp")
    rows, seeds = trajectory(way)
    draws = draws_of(rows, len(images))
    found = read(table_of(rows + [row | {"task": way.task(1)} for row in rows]), way)
    X, y = images.pool[draws.index], images.pool_labels[draws.index]
    for name, weights in WEIGHTS.items():
        own = None if weights is None else weights(draws)
        losses = log_loss(y, trained(images, draws, int(seeds[7, 2]), own).predict_proba(X))
        levelled = np.mean(lure_weights(draws) * losses)
        assert abs(levelled - losses.mean()) > 1e-3  # the plain mean would show
        assert found.series[f"{name} overfitting"][1, -1] == pytest.approx(
            rows[-1][f"{name} nll"] - levelled, rel=1e-12
        )


@pytest.mark.parametrize("acquire", ["naive", "LURE"])
@pytest.mark.parametrize("proposal", ["10000", "5000", "proportional"])
def test_points_are_chosen_by_the_network_and_the_proposal_of_the_way(
    acquire: str, proposal: str, images: ImageSet
) -> None:
    """LURE throughout trains the choosing network with R_LURE; scores are divided by their sum."""
    rows, seeds = trajectory(Way("mnist", "mlp", proposal, acquire))
    for m in range(SETTINGS.start, SETTINGS.budget):
        before = draws_of(rows[:m], len(images))
        own = lure_weights(before) if acquire == "LURE" else None
        left = np.setdiff1d(np.arange(len(images)), before.index)
        model = trained(images, before, int(seeds[m + 1, 0]), own)
        interest = scores.bald(model.sample_proba(images.pool[left], SETTINGS.acquisition_samples))
        if proposal == "proportional":
            p = proportional(interest)
        else:
            p = boltzmann(interest / interest.sum(), float(proposal), allow_zero=True)
        at = left == rows[m]["index"]
        assert rows[m]["probability"] == pytest.approx(p[at].item(), rel=1e-9)
        even = np.exp(-np.sum(p * np.log(np.maximum(p, 1e-300)))) / len(left)
        assert rows[m]["evenness"] == pytest.approx(even, rel=1e-9)
        assert rows[m]["spread"] == pytest.approx(interest.std() / interest.mean(), rel=1e-9)


def test_the_two_acquisition_objectives_choose_by_different_networks(images: ImageSet) -> None:
    one, other = (trajectory(Way("mnist", "mlp", "1000", kind))[0] for kind in ("naive", "LURE"))
    start = SETTINGS.start
    assert [row["index"] for row in one[:start]] == [row["index"] for row in other[:start]]
    assert one[-1]["evenness"] != other[-1]["evenness"]


def test_the_fixed_network_has_seen_none_of_the_pool(images: ImageSet) -> None:
    rows, seeds = trajectory(Way(network="mlp"))
    X, y = images.validation, images.validation_labels
    model = network(SETTINGS, int(seeds[0, 0])).fit(X[:16], y[:16], validation=(X[16:], y[16:]))
    losses = log_loss(images.pool_labels, model.predict_proba(images.pool), cap=50)
    for row in rows:
        assert row["fixed_risk"] == pytest.approx(losses.mean(), rel=1e-12)
        assert row["fixed_loss"] == pytest.approx(losses[row["index"]], rel=1e-12)
    found = read(table_of(rows), Way(network="mlp"))
    drawn = [row["fixed_loss"] for row in rows]
    weights = lure_weights(draws_of(rows, len(images)))
    assert found.series["active learning bias"][0, -1] == pytest.approx(
        losses.mean() - np.mean(drawn)
    )
    assert found.series["LURE error"][0, -1] == pytest.approx(
        losses.mean() - np.mean(weights * drawn)
    )


def test_a_trajectory_taken_up_again_goes_on_as_it_would_have(images: ImageSet) -> None:
    way = Way(network="mlp")
    rows, _ = trajectory(way)
    rest = list(steps(SETTINGS, way.task(0), np.random.default_rng(1), rows[:5]))
    assert rest == rows[5:]


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> ImageSet:
    """Images large enough for convolutions; the estimates draw from the 30 of the test set."""
    rng = np.random.default_rng(6)
    made = ImageSet(*pictures(25, 16, rng), *pictures(8, 16, rng), *pictures(30, 16, rng))
    monkeypatch.setattr(bias, "image_set", lambda *names, **options: made)
    return made


BIAS = replace(
    BiasSettings(),
    trajectories=12,
    train=20,
    budget=30,
    size=16,
    steps=4,
    check_every=2,
    training_samples=2,
    test_samples=2,
    acquisition_samples=4,
)


def bias_curves(proposal: str, **own: Any) -> tuple[dict[str, Curve], float]:  # noqa: ANN401
    """What image-bias stores of a proposal, and the risk of its network."""
    table = bias.STUDIES["image-bias"]
    assert callable(table.run)
    made = table.run(replace(BIAS, **own), "mnist", np.random.default_rng(2))
    (risk,) = set(made["risk"].to_pylist())
    return curves(made, proposal=proposal), risk


def test_image_bias_stores_errors_which_end_with_the_whole_test_set(tested: ImageSet) -> None:
    """With all 30 labels the naive mean and R_LURE are the true risk, whatever was drawn first."""
    found, risk = bias_curves("floor")
    for name in ("naive", "LURE"):
        assert found[name].labels[-1] == len(tested.test)
        assert found[name].mean[-1] == pytest.approx(0, abs=1e-6 * risk)
        assert found[name].sd[-1] == pytest.approx(0, abs=1e-6 * risk)
        assert found[name].sd[0] > 1e-3 * risk


def test_image_bias_draws_from_the_test_set_by_normalised_scores(tested: ImageSet) -> None:
    rng = np.random.default_rng(2)
    chosen = rng.permutation(len(tested))[: BIAS.train]
    model = RadialClassifier(
        "cnn",
        classes=range(10),
        max_steps=4,
        check_every=2,
        training_samples=2,
        test_samples=2,
        scaling=(0.0, 1.0),
        seed=int(rng.integers(2**31)),
    ).fit(
        tested.pool[chosen],
        tested.pool_labels[chosen],
        validation=(tested.validation, tested.validation_labels),
    )
    losses = log_loss(tested.test_labels, model.predict_proba(tested.test), cap=50)
    interest = scores.bald(model.sample_proba(tested.test, 4))
    p = boltzmann(interest / interest.sum(), 10_000, allow_zero=True)
    seeds = rng.integers(2**31, size=BIAS.trajectories)
    drawn = [race(p, 10, seed=int(seed), allow_zero=True) for seed in seeds]
    found, risk = bias_curves("BALD", budget=10)
    assert risk == pytest.approx(losses.mean(), rel=1e-12)
    for name, weights in WEIGHTS.items():
        own = [1.0 if weights is None else weights(draws) for draws in drawn]
        errors = [
            risk - np.mean(weight * losses[draws.index])
            for weight, draws in zip(own, drawn, strict=True)
        ]
        assert found[name].mean[0] == pytest.approx(np.mean(errors), rel=2e-5)
        assert found[name].sd[0] == pytest.approx(np.std(errors, ddof=1), rel=2e-5)


def test_classes_are_thinned_out_by_their_noised_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class ratios are exact in the labels that training sees: noise comes first.

    The brightness of a picture is its true class. All images are taken instead of a quarter.
    """
    labels = np.repeat(np.arange(10), 400)
    bright = np.broadcast_to(labels.astype(np.uint8)[:, None, None] * 20, (4000, 28, 28))
    made = DataSet("made-up", bright, labels, bright[::4], labels[::4])
    monkeypatch.setattr(data, "load_data", lambda name: made)
    monkeypatch.setattr(data, "SHARE", 1.0)
    monkeypatch.setattr(data, "N_VALIDATION", 100)
    images = image_set("made-up", size=16, rng=np.random.default_rng(0))
    assert len(images.validation_labels) == 100
    noised = np.concatenate([images.pool_labels, images.validation_labels])
    counts = np.bincount(noised, minlength=10)
    assert counts.tolist() == np.floor(counts[0] * RATIOS + 1e-9).astype(int).tolist()
    levels = np.unique(np.concatenate([images.test[:, 8, 8], images.pool[:, 8, 8]]))
    shown = np.searchsorted(levels, images.pool[:, 8, 8])
    wrong = np.mean(shown != images.pool_labels)
    assert 0.05 < wrong < 0.2  # a tenth is noised; rare labels are wrong more often
    np.testing.assert_array_equal(np.searchsorted(levels, images.test[:, 8, 8]), images.test_labels)
    tested = np.bincount(images.test_labels, minlength=10)
    assert tested.tolist() == [100, 50, 50, 20, 20, 20, 10, 10, 1, 1]


def test_images_are_normalised_by_the_mean_and_spread_of_the_training_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    dark, light = (rng.integers(low, low + 50, (50, 28, 28), dtype=np.uint8) for low in (0, 200))
    labels = np.arange(50) % 10
    made = DataSet("normalised", dark, labels, light, labels)
    monkeypatch.setattr(data, "load_data", lambda name: made)
    monkeypatch.setattr(data, "SHARE", 1.0)
    monkeypatch.setattr(data, "N_VALIDATION", 5)
    monkeypatch.setattr(data, "RATIOS", np.ones(10))
    monkeypatch.setattr(data, "NOISE", 0.0)
    images = image_set("normalised", size=28, rng=rng)
    expected = (light / 255 - dark.mean() / 255) / (dark / 255).std()
    np.testing.assert_allclose(images.test.mean(), expected.mean(), rtol=1e-4)
    assert abs(images.pool.mean()) < 0.1
    assert images.pool.std() == pytest.approx(1, abs=0.05)
