import json

import numpy as np
import pytest
from sklearn import metrics as sk

import levelled as lv
from levelled import losses, metrics
from levelled.errors import InputError, LossError
from levelled.samplers import race
from metrics.samples import FOUR, NAMES, WEIGHTED, enough, everything, mail, trajectory

LABELS, PRED = ["spam", "ham", "ham", "spam"], ["spam", "ham", "spam", "ham"]
PROBA = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])


def test_the_whole_pool_gives_the_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    pool, draws = mail(300, rng), everything(300, rng)
    label, pred, proba = pool.label[draws.index], pool.pred[draws.index], pool.proba[draws.index]
    classes = NAMES.tolist()
    found = {
        "accuracy": metrics.accuracy(label, pred, draws),
        "error": metrics.error(label, pred, draws),
        "share": metrics.share(label, draws, of="spam"),
        "log_loss": metrics.log_loss(label, proba, draws, classes=classes),
        "brier": metrics.brier(label, proba, draws, classes=classes),
    }
    expected = {
        "accuracy": sk.accuracy_score(pool.label, pool.pred),
        "error": sk.zero_one_loss(pool.label, pool.pred),
        "share": np.mean(pool.label == "spam"),
        "log_loss": sk.log_loss(pool.label, pool.proba, labels=NAMES),
        "brier": np.square(pool.proba - (pool.label[:, None] == NAMES)).sum(axis=1).mean(),
    }
    for name, est in found.items():
        assert est.value == pytest.approx(expected[name], abs=1e-12), name
        assert est.low == pytest.approx(est.high), name


def test_the_whole_pool_gives_the_regression_figures_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, answer, draws = rng.normal(size=200), rng.normal(size=200), everything(200, rng)
    at = draws.index
    assert metrics.mse(y[at], answer[at], draws).value == pytest.approx(
        sk.mean_squared_error(y, answer)
    )
    assert metrics.mae(y[at], answer[at], draws).value == pytest.approx(
        sk.mean_absolute_error(y, answer)
    )
    assert metrics.mean(y[at], draws).value == pytest.approx(y.mean())


def test_every_average_is_the_weighted_mean_of_its_losses() -> None:
    weights = lv.lure_weights(WEIGHTED)
    y = np.array([1, 0, 0, 1])
    pairs = [
        (metrics.error(LABELS, PRED, WEIGHTED), losses.zero_one(LABELS, PRED)),
        (metrics.share(LABELS, WEIGHTED, of="spam"), y),
        (metrics.log_loss(y, PROBA, WEIGHTED), losses.log_loss(y, PROBA)),
        (metrics.brier(y, PROBA, WEIGHTED), losses.brier(y, PROBA)),
        (metrics.mean([4, 1, 2, 5], WEIGHTED, bounds=(1, 5)), np.array([4, 1, 2, 5])),
    ]
    for found, loss in pairs:
        assert found.value == pytest.approx(np.mean(weights * loss))


def test_accuracy_is_the_mirror_of_error() -> None:
    error, accuracy = (f(LABELS, PRED, WEIGHTED) for f in (metrics.error, metrics.accuracy))
    assert error.value is not None
    assert accuracy.value is not None
    assert accuracy.value == 1 - error.value
    assert (accuracy.low, accuracy.high) == (1 - error.high, 1 - error.low)
    assert accuracy.stderr == error.stderr


def test_a_control_of_accuracy_predicts_accuracy() -> None:
    right = np.array([0.9, 0.9, 0.1, 0.2])
    accuracy = metrics.accuracy(LABELS, PRED, FOUR, control=right, control_mean=0.5)
    error = metrics.error(LABELS, PRED, FOUR, control=1 - right, control_mean=0.5)
    assert error.value is not None
    assert accuracy.value == pytest.approx(1 - error.value)


def test_a_judge_that_agrees_with_people_leaves_less_to_estimate() -> None:
    rng = np.random.default_rng(2)
    rating = rng.integers(1, 6, 500).astype(float)
    judge = np.clip(rating + rng.normal(0, 0.3, 500), 1, 5)
    draws = everything(500, rng)[:60]
    plain = metrics.mean(rating[draws.index], draws, bounds=(1, 5))
    helped = metrics.mean(
        rating[draws.index],
        draws,
        bounds=(1, 5),
        control=judge[draws.index],
        control_mean=float(judge.mean()),
    )
    assert plain.stderr is not None
    assert helped.stderr is not None
    assert helped.stderr < 0.4 * plain.stderr
    assert helped.high - helped.low < 0.5 * (plain.high - plain.low)


def test_a_declared_cap_bounds_the_log_loss() -> None:
    y, proba = [1, 0, 0, 1], np.array([[1.0, 0.0], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    with pytest.raises(LossError, match="cap"):
        metrics.log_loss(y, proba, FOUR)
    assert metrics.log_loss(y, proba, FOUR, cap=3.0, interval="betting").high <= 3


def test_own_losses_are_averaged_like_the_others() -> None:
    def doubled(labels: list[str], pred: list[str]) -> list[float]:
        return [2.0 * (y != p) for y, p in zip(labels, pred, strict=True)]

    found = metrics.average(doubled, LABELS, PRED, WEIGHTED, bounds=(0, 2))
    once = metrics.error(LABELS, PRED, WEIGHTED)
    assert once.value is not None
    assert found.value == pytest.approx(2 * once.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: metrics.error(LABELS, [1, 0, 1, 1], FOUR), "text"),
        (lambda: metrics.error(LABELS, PRED[:3], FOUR), "pred(icted)? has 3"),
        (lambda: metrics.share(LABELS, FOUR, of=1), r"none.*labels"),
        (lambda: metrics.mean(LABELS, FOUR), "numbers"),
        (lambda: metrics.mean([1, 2, 9, 4], FOUR, bounds=(1, 5)), r"outside.*bounds"),
        (lambda: metrics.brier(LABELS, PROBA, FOUR, classes=["ham", "Spam"]), "'spam', which is"),
        (lambda: metrics.brier(LABELS, PROBA, FOUR, classes=["a", "b", "c"]), "one column for"),
        (lambda: metrics.average(lambda y, p: 1.0, LABELS, PRED, FOUR), "one number a draw"),
        (lambda: metrics.error([], [], FOUR[:0]), "one label"),
    ],
)
def test_bad_input_is_refused_in_words(wrong: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        wrong()  # type: ignore[operator]


def test_numbers_with_fractions_are_no_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = race(np.ones(60), 30, seed=seed)
    numbers = rng.normal(20, 5, 30)
    for compute in (metrics.error, metrics.accuracy, metrics.balanced_accuracy, metrics.confusion):
        with pytest.raises(InputError, match=r"labels.*mse"):
            compute(numbers, numbers + 0.25, draws)
        with pytest.raises(InputError, match="pred holds numbers"):
            compute(numbers.round(), numbers, draws)


@pytest.mark.parametrize(("off", "warned"), [(1, True), (0, False)])
def test_whole_numbers_that_are_mostly_wrong_may_be_quantities(off: int, warned: bool) -> None:
    draws = race(np.ones(60), 30, seed=1)
    for numbers in (draws.index, draws.index.astype(float)):
        est = metrics.error(numbers, numbers + off, draws)
        assert any("use mse or mae" in warning for warning in est.warnings) == warned
    classes = draws.index % 10
    assert not metrics.error(classes, (classes + off) % 10, draws).warnings


POOL_SLICES = np.array(["web", "app"] * 10)
SLICES = POOL_SLICES[FOUR.index]


def test_the_whole_pool_gives_the_mean_of_each_slice() -> None:
    rng = np.random.default_rng(0)
    loss, names = rng.exponential(size=90), rng.choice(["a", "b", "c"], 90)
    draws = everything(90, rng)
    for signed in (loss, loss - 1, (loss > 1).astype(float)):
        table = metrics.by_slice(signed[draws.index], draws, names[draws.index], names)
        for row in table:
            assert row.estimate.value == pytest.approx(signed[names == row.name].mean())
            assert row.estimate.interval == "point"
            assert row.pool_size == row.n_labels == np.sum(names == row.name)


def test_weighted_draws_give_the_weighted_mean_of_each_slice() -> None:
    rng = np.random.default_rng(1)
    pool = mail(300, rng)
    draws = trajectory(pool.trajectories(80, 1, rng), 0, 300)
    names = rng.choice(["a", "b"], 300)
    loss = (pool.label != pool.pred).astype(float)[draws.index]
    v = lv.lure_weights(draws)
    for row in metrics.by_slice(loss, draws, names[draws.index], names):
        inside = names[draws.index] == row.name
        assert row.estimate.value == pytest.approx(np.sum((v * loss)[inside]) / v[inside].sum())
        assert row.n_labels == row.estimate.n_labels == inside.sum()
        assert row.estimate.pool_size == np.sum(names == row.name)


def test_a_slice_whose_items_are_all_labelled_is_known_exactly() -> None:
    pool_slices = np.array(["rare" if item in (4, 1) else "rest" for item in range(20)])
    table = metrics.by_slice([1, 0, 1, 0], FOUR, pool_slices[FOUR.index], pool_slices)
    rare = table["rare"].estimate
    assert (rare.value, rare.low, rare.high, rare.interval) == (0.5, 0.5, 0.5, "point")


@pytest.mark.parametrize(
    ("losses", "bounds", "limits"),
    [
        ([1, 0, 1, 0], None, (0, 1)),
        ([1.5, 0.2, 1.0, 0.0], None, (0, np.inf)),
        ([1.5, 0.2, 1.0, 0.0], (0, 2), (0, 2)),
        ([1.5, -0.2, 1.0, 0.0], None, (-np.inf, np.inf)),
    ],
)
def test_a_slice_without_labels_is_undefined_between_its_bounds(
    losses: list[float], bounds: tuple[float, float] | None, limits: tuple[float, float]
) -> None:
    pool_slices = np.where(np.arange(20) == 15, "never", POOL_SLICES).astype(str)
    table = metrics.by_slice(losses, FOUR, pool_slices[FOUR.index], pool_slices, bounds=bounds)
    never = table["never"].estimate
    assert never.value is None
    assert (never.low, never.high) == limits
    assert "no label of this" in never.warnings[0]
    assert "undefined" in str(table)


def test_one_label_in_a_slice_leaves_what_is_possible() -> None:
    table = metrics.by_slice([1.5, 0.2, 1.0, 0.0], FOUR, SLICES, POOL_SLICES, bounds=(0, 2))
    assert [row.n_labels for row in table] == [2, 2]
    pool_slices = np.where(np.arange(20) == 4, "one", POOL_SLICES).astype(str)
    pool_slices[5] = "one"
    table = metrics.by_slice(
        [1.5, 0.2, 1.0, 0.0], FOUR, pool_slices[FOUR.index], pool_slices, bounds=(0, 2)
    )
    one = table["one"].estimate
    assert (one.low, one.high, one.interval) == (1.5 / 2, (1.5 + 2) / 2, "wilson")


def test_the_intervals_cover(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    covered: dict[str, list[bool]] = {}
    for _ in range(2):
        pool = mail(5000, rng, signal=1.2)
        names = rng.choice(["a", "b"], 5000, p=[0.15, 0.85])
        errors = (pool.label != pool.pred).astype(float)
        picked = pool.proba[np.arange(5000), pool.proba.argmax(axis=1)]
        brier = (1 - picked) ** 2 + errors * picked
        rows = pool.trajectories(400, 100, rng)
        for row in range(100):
            draws = trajectory(rows, row, 5000)
            for kind, loss in (("0/1", errors), ("positive", brier), ("signed", brier - 0.3)):
                table = metrics.by_slice(loss[draws.index], draws, names[draws.index], names)
                for part in table:
                    truth = loss[names == part.name].mean()
                    holds = part.estimate.low <= truth <= part.estimate.high
                    covered.setdefault(kind, []).append(bool(holds))
    for kind, holds_all in covered.items():
        assert enough(np.array(holds_all), 0.925), kind


@pytest.mark.parametrize("n_lower", [0, 2])
def test_a_slice_of_nearly_equal_losses_is_not_taken_for_certain(n_lower: int) -> None:
    rng = np.random.default_rng(0)
    q = rng.uniform(0.01, 0.03, 30)  # weights whose sums round
    draws, names = lv.Draws(np.arange(30), q, 100), np.array(["a", "b"] * 50)
    ratings = np.where(np.arange(30) < 2 * n_lower, 4.0, 5.0)
    bounded = metrics.by_slice(ratings, draws, names[:30], names, bounds=(1, 5))
    free = metrics.by_slice(ratings, draws, names[:30], names)
    for one, other in zip(bounded, free, strict=True):
        assert one.estimate.interval == "wilson"
        assert one.estimate.low < 4.5
        assert other.estimate.interval == "logical"
        assert other.estimate.high == np.inf
        assert "declare bounds" in other.estimate.warnings[-1]
    same = metrics.by_slice(np.full(30, 5.0), draws, names[:30], names, interval="log_t")
    assert {row.estimate.interval for row in same} == {"logical"}


@pytest.mark.parametrize("bounds", [None, (1, 5)])
@pytest.mark.parametrize("budget", [50, 100])
def test_ratings_that_are_nearly_all_the_same_are_covered(
    seed: int, budget: int, bounds: tuple[float, float] | None
) -> None:
    rng = np.random.default_rng([seed, budget])
    covered = []
    for _ in range(20):
        ratings = np.where(rng.random(2000) < 0.02, rng.integers(1, 5, 2000), 5).astype(float)
        draws, names = everything(2000, rng)[:budget], np.arange(2000) % 5
        part = names[draws.index]
        for row in metrics.by_slice(ratings[draws.index], draws, part, names, bounds=bounds):
            truth = ratings[names == row.name].mean()
            covered.append(bool(row.estimate.low <= truth <= row.estimate.high))
    assert enough(np.array(covered), 0.925)


def test_a_printed_table_tells_each_warning_once_and_whose_it_is() -> None:
    pool_slices = np.array([f"s{item % 10}" for item in range(20)])
    table = metrics.by_slice([1, 0, 1, 0], FOUR, pool_slices[FOUR.index], pool_slices)
    notes = [line for line in str(table).splitlines() if line.startswith("note (")]
    assert [note.partition(":")[0] for note in notes] == ["note (s2, s3, s5, s6, s8, s9)"]


def test_betting_holds_for_bounded_losses_of_any_kind() -> None:
    for values, bounds in (([1, 0, 1, 0], None), ([1.5, -0.2, 1.0, 0.0], (-2, 2))):
        table = metrics.by_slice(
            values, FOUR, SLICES, POOL_SLICES, bounds=bounds, interval="betting"
        )
        for row in table:
            assert row.estimate.interval == "betting"
            assert row.estimate.value is not None
            assert row.estimate.low <= row.estimate.value <= row.estimate.high
    with pytest.raises(InputError, match="with bounds"):
        metrics.by_slice([1.5, 0.2, 1, 0], FOUR, SLICES, POOL_SLICES, interval="betting")


def test_simultaneous_intervals_share_out_the_level() -> None:
    table = metrics.by_slice([1, 0, 1, 0], FOUR, SLICES, POOL_SLICES, simultaneous=True)
    assert [row.estimate.level for row in table] == pytest.approx([0.975, 0.975])
    assert "all at once" in str(table)


def test_items_that_could_never_be_drawn_may_be_in_any_slice() -> None:
    part = lv.Draws(FOUR.index, FOUR.probability, 20, excluded=3)
    for values, bounds in (([1, 0, 1, 0], None), ([1.5, 0.2, 1, 0.1], (0, 2))):
        full = metrics.by_slice(values, FOUR, SLICES, POOL_SLICES, bounds=bounds)
        some = metrics.by_slice(values, part, SLICES, POOL_SLICES, bounds=bounds)
        for one, other in zip(full, some, strict=True):
            assert other.estimate.low <= one.estimate.low
            assert other.estimate.high >= one.estimate.high
            assert "never be drawn" in other.estimate.warnings[0]


def test_a_table_prints_and_goes_into_json() -> None:
    table = metrics.by_slice([1, 0, 1, 0], FOUR, SLICES, POOL_SLICES)
    lines = str(table).splitlines()
    assert lines[0].split() == ["slice", "pool", "labels", "value", "low", "high"]
    assert len({len(line) for line in lines[:3]}) == 1
    rows = json.loads(json.dumps(table.as_dicts()))
    assert [row["slice"] for row in rows] == ["app", "web"]
    assert len(table) == 2


@pytest.mark.parametrize(
    ("error", "words", "wrong"),
    [
        (InputError, "'desktop' by slices", {"slices": ["desktop", "app", "web", "app"]}),
        (InputError, "slices has 3", {"slices": SLICES[:3]}),
        (InputError, "20 items", {"pool_slices": POOL_SLICES[:19]}),
        (InputError, "write both alike", {"slices": [1, 2, 1, 2]}),
        (InputError, "losses has 3", {"losses": [1, 0, 1]}),
        (InputError, "interval", {"interval": "t"}),
        (LossError, r"outside.*bounds", {"bounds": (0, 0.5)}),
        (InputError, "must not exceed 1e\\+100", {"losses": [1e160, 1.0, 2.0, 3.0]}),
    ],
)
def test_bad_input_of_slices_is_refused_in_words(
    error: type[InputError], words: str, wrong: dict[str, object]
) -> None:
    given = {
        "losses": [1, 0, 1, 0],
        "draws": FOUR,
        "slices": SLICES,
        "pool_slices": POOL_SLICES,
    } | wrong
    with pytest.raises(error, match=words):
        metrics.by_slice(**given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no slice 'tv'"):
        _ = metrics.by_slice([1, 0, 1, 0], FOUR, SLICES, POOL_SLICES)["tv"]
