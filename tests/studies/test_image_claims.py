"""What the image studies say of trajectories made by hand, whose truth is known."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.images.bias import PROPOSALS
from levelled_studies.images.bias import claims as bias_claims
from levelled_studies.images.loop import OWN_BIAS, Way
from levelled_studies.images.settings import BiasSettings
from levelled_studies.study import Ruling
from levelled_studies.tables import summarise

N, LENGTH, POOL = 8, 6, 100
JITTER = np.linspace(-1, 1, N)
"""What makes trajectories differ, with mean 0."""

Change = float | Callable[[int], float]


def trajectories(way: Way, **changed: Change) -> list[dict[str, object]]:
    """N trajectories of six draws, tested at the third and the sixth.

    Every column has a usual value, the same in all trajectories; `changed` sets others, as a
    number or as a function of the trajectory's number.
    """
    usual: dict[str, Change] = {
        "evenness": 0.5,
        "spread": 1.0,
        "fixed_loss": 1.5,
        "fixed_risk": 1.0,
        "probability": 1 / POOL,
    }
    for name in ("naive", "PURE", "LURE"):
        usual |= {f"{name}_nll": 1.0, f"{name}_accuracy": 0.8, f"{name}_trained": 0.5}
    rows = []
    for number in range(N):
        found = {
            name: value(number) if callable(value) else value
            for name, value in (usual | changed).items()
        }
        for labels in range(1, LENGTH + 1):
            row = {"task": way.task(number), "labels": labels, "pool_size": POOL, "index": labels}
            for name, value in found.items():
                tested = name.partition("_")[0] in ("naive", "PURE", "LURE")
                told = value if not tested or labels % 3 == 0 else None
                row[name.replace("_", " ") if tested else name] = told
            rows.append(row)
    return rows


def verdicts(study: str, *parts: list[dict[str, object]]) -> Mapping[str, Ruling]:
    (found,) = find(study)
    settings = found.presets["smoke"]
    tables = [pa.Table.from_pylist(part) for part in parts]
    table = pa.concat_tables(tables, promote_options="default")
    return {claim.name: claim.verdict for claim in found.claims(table, settings)}


def about(mean: float, spread: float) -> Callable[[int], float]:
    return lambda number: mean + spread * float(JITTER[number])


@pytest.mark.parametrize(
    ("lure", "verdict"),
    [
        (about(1.1, 0.01), "holds"),
        (about(1.0, 0.01), "holds"),
        (about(0.8, 0.01), "does not hold"),
        (about(1.0, 2.0), "cannot tell"),
    ],
)
def test_a_loss_is_not_lowered_as_far_as_trajectories_tell(lure: Change, verdict: Ruling) -> None:
    told = verdicts("image-training", trajectories(Way(), LURE_nll=lure, PURE_nll=lure))
    assert told["training-loss-mnist-cnn"] == verdict


@pytest.mark.parametrize(
    ("lure", "verdict"),
    [
        (about(0.7, 0.01), "holds"),
        (about(0.9, 0.01), "does not hold"),
        (about(0.8, 1.0), "cannot tell"),
    ],
)
def test_an_accuracy_is_not_raised_as_far_as_trajectories_tell(
    lure: Change, verdict: Ruling
) -> None:
    told = verdicts("image-training", trajectories(Way(), LURE_accuracy=lure, PURE_accuracy=lure))
    assert told["training-accuracy-mnist-cnn"] == verdict


@pytest.mark.parametrize(
    ("lure", "verdict"),
    [
        (about(1.02, 0.01), "holds"),
        (about(0.98, 0.01), "does not hold"),
        (about(1.02, 0.1), "cannot tell"),
    ],
)
def test_a_significant_impact_is_a_difference_that_shows(lure: Change, verdict: Ruling) -> None:
    told = verdicts("image-training", trajectories(Way(), LURE_nll=lure, PURE_nll=lure))
    assert told["training-nll-as-said-mnist-cnn"] == verdict


def test_dropout_is_said_to_perform_similarly() -> None:
    (study,) = find("image-training")
    settings = replace(study.presets["smoke"], network="dropout")  # type: ignore[call-arg]
    rows = trajectories(Way(network="dropout"), LURE_nll=about(1.02, 0.01))
    told = {claim.name: claim for claim in study.claims(pa.Table.from_pylist(rows), settings)}
    assert told["training-nll-as-said-mnist-dropout"].verdict == "holds"
    assert "similarly" in told["training-nll-as-said-mnist-dropout"].says


@pytest.mark.parametrize(
    ("throughout", "verdict"),
    [
        (about(1.01, 0.01), "holds"),
        (about(1.3, 0.01), "does not hold"),
        (about(1.0, 1.0), "cannot tell"),
    ],
)
def test_lure_throughout_makes_no_difference_up_to_a_margin(
    throughout: Change, verdict: Ruling
) -> None:
    told = verdicts(
        "image-lure-throughout",
        trajectories(Way()),
        trajectories(Way(acquire="LURE"), LURE_nll=throughout),
    )
    assert told == {"throughout-nll": verdict, "throughout-accuracy": "holds"}


def at_temperatures(**changed: Mapping[int, Change]) -> list[list[dict[str, object]]]:
    return [
        trajectories(
            Way(proposal=str(T)), **{name: each[T] for name, each in changed.items() if T in each}
        )
        for T in (1_000, 5_000, 10_000, 15_000, 20_000)
    ]


@pytest.mark.parametrize(
    ("hot", "verdict"),
    [
        (about(1.02, 0.01), "holds"),
        (about(1.5, 0.01), "holds partly"),
        (about(1.0, 1.0), "holds partly"),
    ],
)
def test_a_temperature_has_little_effect_up_to_a_margin(hot: Change, verdict: Ruling) -> None:
    told = verdicts("image-temperature", *at_temperatures(naive_nll={20_000: hot}))
    assert told["temperature-little-effect"] == verdict


def test_noise_at_every_temperature_tells_nothing() -> None:
    noisy = {T: about(1.0, 2.0) for T in (1_000, 5_000, 15_000, 20_000)}
    told = verdicts("image-temperature", *at_temperatures(naive_nll=noisy, LURE_nll=noisy))
    assert told["temperature-little-effect"] == "cannot tell"


@pytest.mark.parametrize(
    ("lure", "verdict"), [(about(1.1, 0.01), "holds"), (about(0.7, 0.01), "does not hold")]
)
def test_the_pattern_is_that_of_every_temperature(lure: Change, verdict: Ruling) -> None:
    everywhere = dict.fromkeys((1_000, 5_000, 10_000, 15_000, 20_000), lure)
    told = verdicts("image-temperature", *at_temperatures(LURE_nll=everywhere))
    assert told["temperature-same-pattern"] == verdict


@pytest.mark.parametrize(
    ("hottest", "verdict"),
    [(about(0.001, 1e-5), "holds"), (about(1 / POOL, 1e-5), "holds partly")],
)
def test_weights_spread_more_at_every_step_to_a_higher_temperature(
    hottest: Change, verdict: Ruling
) -> None:
    """Draws that were less likely than uniform ones weigh more, and differ by their place."""
    chances = dict(zip((1_000, 5_000, 10_000, 15_000), (0.008, 0.006, 0.004, 0.002), strict=True))
    drawn = {T: about(chance, 1e-5) for T, chance in chances.items()} | {20_000: hottest}
    told = verdicts("image-temperature", *at_temperatures(probability=drawn))
    assert told["temperature-variance"] == verdict


@pytest.mark.parametrize(
    ("cold", "hot", "verdict"),
    [
        (about(0.97, 0.01), about(0.2, 0.01), "holds"),
        (about(0.97, 0.01), about(0.5, 0.9), "holds partly"),
        (about(0.6, 0.01), about(0.7, 0.01), "does not hold"),
    ],
)
def test_proposals_go_from_uniform_to_deterministic(
    cold: Change, hot: Change, verdict: Ruling
) -> None:
    even = {1_000: cold, 10_000: about(0.5, 0.01), 20_000: hot}
    told = verdicts("image-temperature", *at_temperatures(evenness=even))
    assert told["temperature-uniform"] == verdict


@pytest.mark.parametrize(
    ("trained", "loss", "opposite", "similar", "dominates"),
    [
        (about(0.5, 0.01), about(1.5, 0.01), "holds", "holds", "does not hold"),
        (about(0.0, 0.01), about(1.1, 0.01), "holds", "does not hold", "holds"),
        (about(0.5, 0.01), about(1.5, 3.0), "holds partly", "cannot tell", "cannot tell"),
        (about(2.0, 0.01), about(0.5, 0.01), "does not hold", "does not hold", "does not hold"),
        (about(0.0, 0.01), about(1.0, 0.01), "holds partly", "cannot tell", "holds"),
    ],
)
def test_biases_are_compared_where_both_can_be_told(
    trained: Change, loss: Change, opposite: Ruling, similar: Ruling, dominates: Ruling
) -> None:
    """Test risk is 1, so overfitting bias is 1 - trained; the fixed risk is 1: bias 1 - loss."""
    all_trained = {f"{name}_trained": trained for name in ("naive", "PURE", "LURE")}
    told = overfitting(-0.5, fixed_loss=loss, **all_trained)
    assert told["overfitting-opposite-mnist"] == opposite
    assert told["overfitting-similar-mnist-same"] == similar
    assert told["overfitting-dominates-fashion-same"] == dominates


def overfitting(own: float, **changed: Change) -> Mapping[str, Ruling]:
    """Verdicts where networks that choose their own points have that bias, give or take 1%."""
    parts = []
    for data in ("mnist", "fashion-mnist"):
        parts.append(trajectories(Way(data), **changed))
        for proposal in ("10000", "proportional"):
            way, biases = Way(data, proposal=proposal, acquire="own"), own * (1 + 0.01 * JITTER)
            rows: list[dict[str, object]] = [
                {"task": way.task(number), "labels": labels, OWN_BIAS: float(bias)}
                for number, bias in enumerate(biases)
                for labels in (3, 6)
            ]
            parts.append(rows)
    return verdicts("image-overfitting", *parts)


@pytest.mark.parametrize(
    ("own", "similar", "dominates"),
    [(-0.5, "holds", "does not hold"), (-0.05, "does not hold", "holds")],
)
def test_overfitting_is_compared_with_the_bias_of_figure_2_too(
    own: float, similar: Ruling, dominates: Ruling
) -> None:
    told = overfitting(own, fixed_loss=about(1.5, 0.01), naive_trained=about(0.5, 0.01))
    for proposal in ("10000", "proportional"):
        assert told[f"overfitting-similar-mnist-{proposal}"] == similar
        assert told[f"overfitting-dominates-fashion-{proposal}"] == dominates
    assert told["overfitting-similar-mnist-same"] == "holds"


@pytest.mark.parametrize(("error", "verdict"), [(0.0, "does not hold"), (0.5, "cannot tell")])
def test_overfitting_differs_only_beyond_the_error_of_what_measures_it(
    error: float, verdict: Ruling
) -> None:
    """LURE overfits by 0.2 more; the fixed network's R_LURE is its loss, 1 - error, of risk 1."""
    told = overfitting(-1.0, fixed_loss=1 - error, LURE_trained=about(0.3, 0.001))
    assert told["overfitting-reduced-fashion"] == verdict


@pytest.mark.parametrize(
    ("even", "narrow", "mlp", "expected"),
    [
        (about(0.9, 0.01), about(0.5, 0.1), about(1.0, 1.0), ("holds", "holds", "holds")),
        (
            about(0.5, 0.2),
            about(1.0, 0.2),
            about(1.0, 0.1),
            ("cannot tell", "cannot tell", "cannot tell"),
        ),
        (
            about(0.3, 0.01),
            about(1.5, 0.1),
            about(1.0, 0.001),
            ("does not hold", "does not hold", "does not hold"),
        ),
    ],
)
def test_proposals_are_told_apart_only_where_every_trajectory_agrees(
    even: Change, narrow: Change, mlp: Change, expected: tuple[Ruling, ...]
) -> None:
    told = verdicts(
        "image-proposals",
        trajectories(Way(), naive_nll=about(1.0, 0.1), evenness=about(0.51, 0.005)),
        trajectories(Way(proposal="proportional"), evenness=even),
        trajectories(Way(network="dropout"), spread=narrow),
        trajectories(Way(network="mlp"), naive_nll=mlp),
    )
    assert tuple(told.values()) == expected


def curves_of(ess: float, naive: float, lure: float) -> pa.Table:
    """Errors of estimates over 100 trajectories, with standard error 0.001, at two budgets."""
    wave = 0.01 * np.sqrt(99 / 100) * np.where(np.arange(100) % 2, 1.0, -1.0)[:, None]
    series = {
        name: mean + np.hstack([wave, wave])
        for name, mean in (("naive", naive), ("PURE", lure), ("LURE", lure))
    }
    series["design ESS"] = np.full((100, 2), ess)
    return summarise(series, [10, 100])


@pytest.mark.parametrize(
    ("ess", "naive", "lure", "overestimates", "unbiased"),
    [
        (100.0, -0.1, 0.0, "holds", "holds"),
        (100.0, 0.0, 0.1, "does not hold", "does not hold"),
        (2.0, -0.1, 0.1, "holds", "cannot tell"),
    ],
)
def test_bias_is_judged_where_the_design_can_tell(
    ess: float, naive: float, lure: float, overestimates: Ruling, unbiased: Ruling
) -> None:
    parts = []
    for data in ("mnist", "fashion-mnist"):
        for proposal in PROPOSALS:
            part = curves_of(ess if proposal == "BALD" else 100.0, naive, lure)
            for column, value in (("proposal", proposal), ("data", data)):
                part = part.add_column(0, column, [[value] * len(part)])
            parts.append(part.append_column("risk", [[1.0] * len(part)]))
    told = {c.name: c.verdict for c in bias_claims(pa.concat_tables(parts), BiasSettings())}
    assert told["image-naive-overestimates"] == overestimates
    assert told["image-unbiased-mnist-BALD"] == unbiased
    for proposal in PROPOSALS.keys() - {"BALD"}:
        judged = told[f"image-unbiased-mnist-{proposal}"]
        assert judged == ("holds" if lure == 0 else "does not hold")


def test_a_bias_that_cannot_be_judged_is_told_in_standard_errors() -> None:
    table = pa.concat_tables(
        [
            curves_of(2.0, -0.1, 0.0123)
            .append_column("proposal", [[proposal] * 8])
            .append_column("data", [[data] * 8])
            .append_column("risk", [[1.0] * 8])
            for data in ("mnist", "fashion-mnist")
            for proposal in PROPOSALS
        ]
    )
    claims = {claim.name: claim for claim in bias_claims(table, BiasSettings())}
    told = claims["image-unbiased-mnist-proportional"]
    assert told.verdict == "cannot tell"
    assert "12.3 (R_PURE), 12.3 (R_LURE) at M = 10 to 100" in told.measured
    assert told.where.startswith("section 6, Figure 2b")


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(0.5, "holds"), (1.2, "holds"), (2, "does not hold")]
)
def test_a_variance_is_similar_up_to_a_quarter(ratio: float, verdict: Ruling) -> None:
    rng = np.random.default_rng(0)
    wave = rng.normal(0, 1, (100, 2))
    series = {"naive": wave, "PURE": ratio * wave, "LURE": ratio * wave}
    part = summarise(series | {"design ESS": np.full((100, 2), 50.0)}, [10, 100])
    table = pa.concat_tables(
        [
            part.append_column("proposal", [[proposal] * 8])
            .append_column("data", [[data] * 8])
            .append_column("risk", [[1.0] * 8])
            for data in ("mnist", "fashion-mnist")
            for proposal in PROPOSALS
        ]
    )
    told = {claim.name: claim for claim in bias_claims(table, BiasSettings())}
    claim = told["image-lower-variance-mnist-proportional"]
    assert claim.verdict == verdict
    assert f"{ratio:.2f}, {ratio:.2f} (R_LURE)" in claim.measured
