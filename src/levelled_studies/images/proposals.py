"""The ablations that appendix C.2 reports in words: proposals, dropout and the small network."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from scipy.special import fdtri

from levelled._check import FloatArray
from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import finish, panel
from levelled_studies.images.reading import WayRuns, compare_groups, read
from levelled_studies.images.settings import ImageSettings
from levelled_studies.images.shared import make_study, small_print
from levelled_studies.images.temperature import weight_spread
from levelled_studies.study import Claim, Plot
from levelled_studies.tables import ALARM, judge

__all__ = ["STUDIES"]

WAYS = {
    "radial CNN": Way(),
    "proportional": Way(proposal="proportional"),
    "MC dropout": Way(network="dropout"),
    "MLP": Way(network="mlp"),
}
_LOOK = {
    "radial CNN": ("#0072B2", "-"),
    "proportional": ("#E69F00", (0, (5, 1.5))),
    "MC dropout": ("#CC79A7", (0, (1, 1))),
    "MLP": ("#009E73", (0, (3, 1, 1, 1))),
}
_BELOW = "BALD at T = 10,000, or proportional to it"
BASE = "radial CNN"
WHERE = "appendix C.2"


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Plot]:
    """Evenness of each proposal and spread of its scores, against the number of labels."""
    runs = {name: read(table, way) for name, way in WAYS.items()}
    even, axes = panel("MNIST, unbalanced: evenness of proposals", _BELOW, "evenness")
    spread, lower = panel("MNIST, unbalanced: spread of scores", _BELOW, "s.d. / mean")
    m = np.arange(settings.start + 1, settings.budget + 1)
    for name, each in runs.items():
        colour, dashes = _LOOK[name]
        for on, what in ((axes, "evenness"), (lower, "spread")):
            mean = each.draws[what][:, settings.start :].mean(axis=0)
            on.plot(m, mean, color=colour, linestyle=dashes, label=name)
    axes.set_ylim(0, 1)
    lower.set_ylim(bottom=0)
    return {"evenness": finish(even, axes, m), "spread": finish(spread, lower, m)}


def caption(settings: ImageSettings) -> str:
    """The caption of both panels."""
    return small_print(
        settings,
        WAYS.values(),
        "Means over trajectories at each draw that a network chose; evenness is exp(entropy) of "
        "the proposal over the number of points left.",
        paper_ran="the paper tells this in words",
    )


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """The three sentences of the appendix."""
    runs = {name: read(table, way) for name, way in WAYS.items()}
    return [
        _proportional(runs, settings),
        _compressed(runs, settings),
        _higher_variance(runs),
    ]


def _proportional(runs: Mapping[str, WayRuns], settings: ImageSettings) -> Claim:
    even, sharp = (_chosen(runs[name], "evenness", settings) for name in ("proportional", BASE))
    spread, wide = (weight_spread(runs[name]).mean() for name in ("proportional", BASE))
    return Claim(
        "proposals-proportional",
        WHERE,
        "A proposal proportional to the scores is too close to uniform for costs or benefits of "
        "active learning to be visible.",
        f"evenness {even.mean():.2f} against {sharp.mean():.2f} of the Boltzmann proposal (1 is "
        f"uniform); s.d. of LURE weights {spread:.2f} against {wide:.2f}",
        judge(
            [even.min() > 0.5 and compare_groups(sharp, even) == "holds"],
            [even.max() < 0.5 or compare_groups(even, sharp) == "holds"],
        ),
        f"Close to uniform: above 0.5 and above the other in each of {len(even)} trajectories.",
    )


def _compressed(runs: Mapping[str, WayRuns], settings: ImageSettings) -> Claim:
    narrow, wide = (_chosen(runs[name], "spread", settings) for name in ("MC dropout", BASE))
    return Claim(
        "proposals-dropout",
        WHERE,
        "With Monte Carlo dropout the mutual information is compressed into a narrow range.",
        f"s.d. over mean of the scores: {narrow.mean():.2f} with dropout ({narrow.min():.2f} to "
        f"{narrow.max():.2f}), {wide.mean():.2f} with the radial posterior ({wide.min():.2f} to "
        f"{wide.max():.2f})",
        compare_groups(narrow, wide),
        f"Held if so for each of {len(narrow)} trajectories against each of the others.",
    )


def _chosen(runs: WayRuns, what: str, settings: ImageSettings) -> FloatArray:
    """The mean over the points that a network chose, for each trajectory."""
    return np.asarray(runs.draws[what][:, settings.start :].mean(axis=1))


def _higher_variance(runs: Mapping[str, WayRuns]) -> Claim:
    """Compare the spread of the trajectories' mean losses by Fisher's F."""
    sd = {
        name: float(runs[name].series["naive nll"].mean(axis=1).std(ddof=1))
        for name in ("MLP", BASE)
    }
    n = len(runs["MLP"])
    least = np.sqrt(fdtri(n - 1, n - 1, 1 - ALARM / 2))
    ratio = sd["MLP"] / sd[BASE]
    return Claim(
        "proposals-mlp",
        WHERE,
        "The MLP shows higher variance in downstream performance.",
        f"s.d. over {n} trajectories of the naive test NLL, mean over checkpoints: "
        f"{sd['MLP']:.3f} for the MLP, {sd[BASE]:.3f} for the CNN",
        judge([ratio > least], [ratio < 1 / least]),
        f"So many trajectories show standard deviations that differ by a factor of {least:.1f} "
        f"(Fisher's F at 5%).",
    )


STUDIES = {
    "image-proposals": make_study(
        "image-proposals",
        "Appendix C.2 in words: other proposals, MC dropout and the MLP",
        WAYS.values(),
        figures,
        claims,
        caption,
    )
}
