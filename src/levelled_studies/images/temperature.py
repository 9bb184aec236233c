"""Figure 9: other temperatures of the Boltzmann proposal."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from levelled._check import FloatArray
from levelled.estimators import lure
from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import QUANTITIES, performance
from levelled_studies.images.reading import SLIGHT, Found, difference, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import shared, small_print
from levelled_studies.objectives import WEIGHTS
from levelled_studies.study import Claim, Figure
from levelled_studies.tables import Curve, judged

__all__ = ["STUDIES", "weight_spread"]

TEMPERATURES = (1_000, 5_000, 10_000, 15_000, 20_000)
BASE = 10_000
WHERE = "appendix C.2, Figure 9"
LITTLE = 0.1
"""The share of the loss up to which an effect counts as relatively little."""
UNIFORM = 0.9
"""The evenness above which a proposal counts as nearly uniform."""


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """Test loss and accuracy at each temperature, to one scale."""
    found = {T: each.curves for T, each in _by_temperature(table).items()}
    return {
        f"T{T}-{what}": performance(
            found[T], what, "MNIST, unbalanced", _way(T), width="sd", limits=limits
        )
        for what in QUANTITIES
        for limits in [_limits(found.values(), what)]
        for T in found
    }


def _limits(found: Iterable[Mapping[str, Curve]], what: str) -> tuple[float, float]:
    """From the lowest to the highest edge of all bands, and a little more."""
    all_ = [each[f"{name} {what}"] for each in found for name in WEIGHTS]
    low = min(float((curve.mean - curve.sd).min()) for curve in all_)
    high = max(float((curve.mean + curve.sd).max()) for curve in all_)
    margin = max(0.03 * (high - low), 0.01)
    return low - margin, high + margin


def caption(settings: ImageSettings) -> str:
    """Of all panels."""
    return small_print(
        settings,
        map(_way, TEMPERATURES),
        "Means over trajectories; shading is one standard deviation.",
        "One vertical axis for all temperatures.",
        paper_ran="the paper gives no number here, and 45 for Figures 3b and 3c",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """What the temperature changes and what not."""
    found = _by_temperature(table)
    return [_little_effect(found), _same_pattern(found), _weights(found), _nearly_uniform(found)]


def _by_temperature(table: pa.Table) -> dict[int, Found]:
    return {T: read(table, _way(T)) for T in TEMPERATURES}


def _way(temperature: int) -> Way:
    return Way(proposal=str(temperature))


def _little_effect(found: Mapping[int, Found]) -> Claim:
    losses = {T: each.series["naive nll"] for T, each in found.items()}
    base = losses.pop(BASE)
    apart = {T: difference(loss, base, comparisons=len(losses)) for T, loss in losses.items()}
    told = ", ".join(f"{each} at T = {T:,}" for T, each in apart.items())
    within = LITTLE * float(base.mean())
    each = [one.negligible(within=within) for one in apart.values()]
    return Claim(
        "temperature-little-effect",
        WHERE,
        "Temperatures between 1,000 and 20,000 have relatively little effect on the test loss.",
        f"paired difference in naive NLL to T = {BASE:,} ({base.mean():.3f}), mean over "
        f"checkpoints: {told}",
        judged([one == "holds" for one in each], [one == "does not hold" for one in each]),
        f"Little: up to {within:.2g} either way. {apart[20_000].reach}",
    )


def _same_pattern(found: Mapping[int, Found]) -> Claim:
    each = {
        T: difference(f.series["LURE nll"], f.series["naive nll"], comparisons=len(found))
        for T, f in found.items()
    }
    told = ", ".join(f"{d} at T = {T:,}" for T, d in each.items())
    within = SLIGHT * float(found[BASE].series["naive nll"].mean())
    verdicts = [one.above(-within) for one in each.values()]
    return Claim(
        "temperature-same-pattern",
        WHERE,
        "The overall pattern, naive training no worse than corrected, is consistent.",
        f"paired difference in NLL, LURE - naive: {told}",
        judged([one == "holds" for one in verdicts], [one == "does not hold" for one in verdicts]),
        f"No worse: at most {within:.2g} higher. {each[BASE].reach}",
    )


def _weights(found: Mapping[int, Found]) -> Claim:
    spread = {T: weight_spread(each) for T, each in found.items()}
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
        judged([step.shows(1) for step in steps], [step.shows(-1) for step in steps]),
        "The heavier a weight, the rarer it is: a few trajectories look even as long as none of "
        f"the heaviest has come up, so a small spread says little. {steps[-1].reach}",
    )


def weight_spread(found: Found) -> FloatArray:
    """The standard deviation of the LURE weights of all draws of each trajectory."""
    each = zip(found.draws["probability"], found.draws["pool_size"], strict=True)
    return np.array([lure.weights(q, int(N[0])).std() for q, N in each])


def _nearly_uniform(found: Mapping[int, Found]) -> Claim:
    even = {T: each.draws["evenness"][:, -1:] for T, each in found.items()}
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
        judged([cold.shows(1), hot.shows(1)], [cold.shows(-1), hot.shows(-1)]),
        f"Nearly uniform: above {UNIFORM:g} at T = 1,000. {hot.reach}",
    )


STUDIES = {
    "image-temperature": shared(
        "image-temperature",
        "Figure 9: other temperatures of the Boltzmann proposal",
        map(_way, TEMPERATURES),
        figures,
        claims,
        caption,
    )
}
