"""Figure 9: other temperatures of the Boltzmann proposal."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled.estimators import lure
from levelled.studies.images.loop import TRAJECTORIES, Way, ways
from levelled.studies.images.pictures import loss_and_accuracy
from levelled.studies.images.reading import Found, difference, read, unpaired
from levelled.studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled.studies.study import Claim, Figure, Study
from levelled.studies.tables import verdict

__all__ = ["STUDIES", "weight_spread"]

TEMPERATURES = (1_000, 5_000, 10_000, 15_000, 20_000)
BASE = 10_000
WHERE = "appendix C.2, Figure 9"


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """Test loss and accuracy at each temperature."""
    return {
        f"figure-9-T{T}": loss_and_accuracy(
            found.curves, settings, f"MNIST, unbalanced, T = {T:,}", shading="sd"
        )
        for T, found in _by_temperature(table).items()
    }


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """What the temperature changes and what not."""
    found = _by_temperature(table)
    return [_little_effect(found), _same_pattern(found), _weights(found), _nearly_uniform(found)]


def _by_temperature(table: pa.Table) -> dict[int, Found]:
    return {T: read(table, Way(proposal=str(T))) for T in TEMPERATURES}


def _little_effect(found: Mapping[int, Found]) -> Claim:
    losses = {T: each.series["naive nll"] for T, each in found.items()}
    apart = {T: unpaired(loss, losses[BASE]) for T, loss in losses.items() if T != BASE}
    told = ", ".join(f"{each} at T = {T:,}" for T, each in apart.items())
    return Claim(
        "temperature-little-effect",
        WHERE,
        "Temperatures between 1,000 and 20,000 have relatively little effect on the test loss.",
        f"naive NLL less that at T = {BASE:,} ({losses[BASE].mean():.3f}), mean over checkpoints: "
        f"{told}",
        verdict([not (each.shows(1) or each.shows(-1)) for each in apart.values()]),
        f"Little: not to be told from chance. {apart[20_000].reach}",
    )


def _same_pattern(found: Mapping[int, Found]) -> Claim:
    each = {T: difference(f.series["LURE nll"], f.series["naive nll"]) for T, f in found.items()}
    told = ", ".join(f"{d} at T = {T:,}" for T, d in each.items())
    return Claim(
        "temperature-same-pattern",
        WHERE,
        "The overall pattern, naive training no worse than corrected, is consistent.",
        f"paired difference in NLL, LURE - naive: {told}",
        verdict([not d.shows(-1) for d in each.values()]),
        each[BASE].reach,
    )


def _weights(found: Mapping[int, Found]) -> Claim:
    spread = {T: weight_spread(each) for T, each in found.items()}
    return Claim(
        "temperature-variance",
        f"{WHERE}, caption",
        "Higher temperatures increase the variance of the risk estimator, because the weight of "
        "unlikely points grows.",
        "s.d. of the LURE weights at the full budget: "
        + ", ".join(f"{s:.2f} at T = {T:,}" for T, s in spread.items()),
        "holds" if spread[20_000] > spread[5_000] > spread[1_000] else "cannot tell",
        "The heavier a weight, the rarer it is: a few trajectories look even as long as none of "
        "the heaviest has come up, so a small spread says little.",
    )


def weight_spread(found: Found) -> float:
    """The standard deviation of the LURE weights of all draws of a trajectory, on average."""
    return float(
        np.mean(
            [
                lure.weights(q, int(N[0])).std()
                for q, N in zip(found.draws["probability"], found.draws["pool_size"], strict=True)
            ]
        )
    )


def _nearly_uniform(found: Mapping[int, Found]) -> Claim:
    even = {T: float(np.mean(each.draws["evenness"][:, -1])) for T, each in found.items()}
    return Claim(
        "temperature-uniform",
        "appendix C.2",
        "For lower temperatures the acquisition distribution becomes nearly uniform, for higher "
        "ones it approaches a deterministic choice.",
        "exp(entropy) of the last proposal over the points left (1 is uniform): "
        + ", ".join(f"{e:.3f} at T = {T:,}" for T, e in even.items()),
        "holds" if even[1_000] > 0.9 and even[20_000] < even[10_000] else "holds partly",
    )


STUDIES = {
    "image-temperature": Study(
        name="image-temperature",
        title="Figure 9: other temperatures of the Boltzmann proposal",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: [
            task for T in TEMPERATURES for task in ways(Way(proposal=str(T)), settings)
        ],
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
    )
}
