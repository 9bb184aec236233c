"""Figure 9: other temperatures of the Boltzmann proposal."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import QUANTITIES, performance
from levelled_studies.images.reading import SLIGHT, WayRuns, difference, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import make_study, small_print
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import Curve, judge, would_decide

__all__ = ["STUDIES", "weight_spread"]

TEMPERATURES = (1_000, 5_000, 10_000, 15_000, 20_000)
BASE = 10_000
WHERE = "appendix C.2, Figure 9"
LITTLE = 0.1
"""The share of the loss up to which an effect counts as relatively little."""
UNIFORM = 0.9
"""The evenness above which a proposal counts as nearly uniform."""


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Plot]:
    """Test loss and accuracy at each temperature, to one scale."""
    runs = {T: each.curves for T, each in _by_temperature(table).items()}
    return {
        f"T{T}-{what}": performance(
            runs[T], what, "MNIST, unbalanced", _way(T), width="sd", limits=limits
        )
        for what in QUANTITIES
        for limits in [_limits(runs.values(), what)]
        for T in runs
    }


def _limits(runs: Iterable[Mapping[str, Curve]], what: str) -> tuple[float, float]:
    """The lowest and the highest edge of all bands, with a small margin."""
    all_ = [each[f"{name} {what}"] for each in runs for name in WEIGHTS]
    low = min(float((curve.mean - curve.sd).min()) for curve in all_)
    high = max(float((curve.mean + curve.sd).max()) for curve in all_)
    margin = max(0.03 * (high - low), 0.01)
    return low - margin, high + margin


def caption(settings: ImageSettings) -> str:
    """The caption of all panels."""
    return small_print(
        settings,
        map(_way, TEMPERATURES),
        "Means over trajectories; shading is one standard deviation; one vertical axis for all "
        "temperatures.",
        paper_ran="the paper gives no number here, and 45 for Figures 3b and 3c",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """Claims on the effect of the temperature."""
    runs = _by_temperature(table)
    return [
        _little_effect(runs),
        _same_pattern(runs),
        _weights(runs),
        _nearly_uniform(runs),
    ]


def _by_temperature(table: pa.Table) -> dict[int, WayRuns]:
    return {T: read(table, _way(T)) for T in TEMPERATURES}


def _way(temperature: int) -> Way:
    return Way(proposal=str(temperature))


def _little_effect(runs: Mapping[int, WayRuns]) -> Claim:
    losses = {T: each.series["naive nll"] for T, each in runs.items()}
    base = losses.pop(BASE)
    apart = {T: difference(loss, base, comparisons=len(losses)) for T, loss in losses.items()}
    text = ", ".join(f"{each} at T = {T:,}" for T, each in apart.items())
    within = LITTLE * float(base.mean())
    each = [one.negligible(within=within) for one in apart.values()]
    return Claim(
        "temperature-little-effect",
        WHERE,
        "Temperatures between 1,000 and 20,000 have relatively little effect on the test loss.",
        f"paired difference in naive NLL to T = {BASE:,} ({base.mean():.3f}), mean over "
        f"checkpoints: {text}",
        judge([one == "holds" for one in each], [one == "does not hold" for one in each]),
        f"Little: up to {within:.2g} either way. {apart[20_000].reach} If there is no difference, "
        f"{would_decide(*(one.needed(within, sides=2) for one in apart.values()))}.",
    )


def _same_pattern(runs: Mapping[int, WayRuns]) -> Claim:
    each = {
        T: difference(f.series["LURE nll"], f.series["naive nll"], comparisons=len(runs))
        for T, f in runs.items()
    }
    text = ", ".join(f"{d} at T = {T:,}" for T, d in each.items())
    within = SLIGHT * float(runs[BASE].series["naive nll"].mean())
    verdicts = [one.above(-within) for one in each.values()]
    return Claim(
        "temperature-same-pattern",
        WHERE,
        "The overall pattern, naive training no worse than corrected, is consistent.",
        f"paired difference in NLL, LURE - naive: {text}",
        judge([one == "holds" for one in verdicts], [one == "does not hold" for one in verdicts]),
        f"No worse: at most {within:.2g} higher. {each[BASE].reach} If the differences are as "
        f"measured, "
        f"{would_decide(*(one.needed(abs(one.mean + within)) for one in each.values()))}.",
    )


def _weights(runs: Mapping[int, WayRuns]) -> Claim:
    spread = {T: weight_spread(each) for T, each in runs.items()}
    steps = [
        difference(spread[hot][:, None], spread[cold][:, None], comparisons=len(TEMPERATURES) - 1)
        for cold, hot in pairwise(TEMPERATURES)
    ]
    return Claim(
        "temperature-variance",
        f"{WHERE}, caption",
        "Higher temperatures increase the variance of the risk estimator, because the weight of "
        "unlikely points grows.",
        "s.d. of the LURE weights at the full budget: "
        + ", ".join(f"{s.mean():.2f} at T = {T:,}" for T, s in spread.items())
        + f"; paired differences from one to the next {', '.join(map(str, steps))}",
        judge([step.shows(1) for step in steps], [step.shows(-1) for step in steps]),
        "The heavier a weight, the rarer it is: a few trajectories look even as long as none of "
        f"the heaviest has come up, so a small spread says little. {steps[-1].reach} If the "
        f"differences are as measured, "
        f"{would_decide(*(step.needed(abs(step.mean)) for step in steps))}.",
    )


def weight_spread(runs: WayRuns) -> FloatArray:
    """The standard deviation of the LURE weights of all draws of each trajectory."""
    each = zip(runs.draws["probability"], runs.draws["pool_size"], strict=True)
    return np.array([lure.weights(q, int(N[0])).std() for q, N in each])


def _nearly_uniform(runs: Mapping[int, WayRuns]) -> Claim:
    even = {T: each.draws["evenness"][:, -1:] for T, each in runs.items()}
    cold = difference(even[1_000], np.full_like(even[1_000], UNIFORM), comparisons=2)
    hot = difference(even[BASE], even[20_000], comparisons=2)
    return Claim(
        "temperature-uniform",
        "appendix C.2",
        "For lower temperatures the acquisition distribution becomes nearly uniform, for higher "
        "ones it approaches a deterministic choice.",
        "exp(entropy) of the last proposal over the points left (1 is uniform): "
        + ", ".join(f"{e.mean():.3f} at T = {T:,}" for T, e in even.items())
        + f"; paired difference between {BASE:,} and 20,000 {hot}",
        judge([cold.shows(1), hot.shows(1)], [cold.shows(-1), hot.shows(-1)]),
        f"Nearly uniform: above {UNIFORM:g} at T = 1,000. {hot.reach} If the differences are "
        f"as measured, {would_decide(*(one.needed(abs(one.mean)) for one in (cold, hot)))}.",
    )


STUDIES = {
    "image-temperature": make_study(
        "image-temperature",
        "Figure 9: other temperatures of the Boltzmann proposal",
        map(_way, TEMPERATURES),
        figures,
        claims,
        caption,
    )
}
