"""The ablations that appendix C.2 tells in words: proposals, dropout and the small network."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from levelled.studies.images.loop import TRAJECTORIES, Way, ways
from levelled.studies.images.pictures import small_print
from levelled.studies.images.reading import Found, read
from levelled.studies.images.settings import CPU, PAPER, SMOKE, ImageSettings
from levelled.studies.images.temperature import weight_spread
from levelled.studies.plots import canvas, footnote, title
from levelled.studies.study import Claim, Figure, Study

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
WHERE = "appendix C.2"


def figures(table: pa.Table, settings: ImageSettings) -> Mapping[str, Figure]:
    """How even each proposal is, and how widely its scores spread, against the labels."""
    figure, (upper, lower) = canvas(rows=2, height=4.8)
    for name, way in WAYS.items():
        found = read(table, way)
        colour, dashes = _LOOK[name]
        m = np.arange(1, found.draws["evenness"].shape[1] + 1)
        chosen = m > settings.start
        for axes, what in ((upper, "evenness"), (lower, "spread")):
            mean = found.draws[what].mean(axis=0)
            axes.plot(m[chosen], mean[chosen], color=colour, linestyle=dashes, label=name)
    upper.set_ylabel("evenness")
    lower.set_ylabel("s.d. / mean of scores")
    lower.set_xlabel("labels $M$")
    title(upper, "proposals; 1 is uniform, all but one Boltzmann")
    handles, labels = upper.get_legend_handles_labels()
    title(lower, "BALD scores")
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=7, frameon=False)
    footnote(figure, small_print(settings))
    return {"proposals": figure}


def claims(table: pa.Table, settings: ImageSettings) -> list[Claim]:
    """The three sentences of the appendix."""
    found = {name: read(table, way) for name, way in WAYS.items()}
    return [_proportional(found, settings), _compressed(found, settings), _higher_variance(found)]


def _proportional(found: Mapping[str, Found], settings: ImageSettings) -> Claim:
    even = {name: _chosen(found[name], "evenness", settings) for name in found}
    spread = {name: weight_spread(found[name]) for name in ("proportional", "radial CNN")}
    return Claim(
        "proposals-proportional",
        WHERE,
        "A proposal proportional to the scores is too close to uniform for costs or benefits of "
        "active learning to be visible.",
        f"evenness {even['proportional']:.2f} against {even['radial CNN']:.2f} of the Boltzmann "
        f"proposal (1 is uniform); s.d. of LURE weights {spread['proportional']:.2f} against "
        f"{spread['radial CNN']:.2f}",
        "holds" if even["proportional"] > max(0.5, even["radial CNN"]) else "does not hold",
    )


def _compressed(found: Mapping[str, Found], settings: ImageSettings) -> Claim:
    spread = {name: _chosen(found[name], "spread", settings) for name in found}
    return Claim(
        "proposals-dropout",
        WHERE,
        "With Monte Carlo dropout the mutual information is compressed into a narrow range.",
        f"s.d. over mean of the scores: {spread['MC dropout']:.2f} with dropout, "
        f"{spread['radial CNN']:.2f} with the radial posterior",
        "holds" if spread["MC dropout"] < spread["radial CNN"] else "does not hold",
    )


def _chosen(found: Found, what: str, settings: ImageSettings) -> float:
    return float(found.draws[what][:, settings.start :].mean())


def _higher_variance(found: Mapping[str, Found]) -> Claim:
    sd = {
        name: float(found[name].series["naive nll"].std(axis=0, ddof=1).mean())
        for name in ("MLP", "radial CNN")
    }
    n = len(found["MLP"])
    return Claim(
        "proposals-mlp",
        WHERE,
        "The MLP shows higher variance in downstream performance.",
        f"s.d. of the naive test NLL over {n} trajectories, mean over checkpoints: "
        f"{sd['MLP']:.3f} for the MLP, {sd['radial CNN']:.3f} for the CNN",
        "holds" if sd["MLP"] > sd["radial CNN"] else "does not hold",
        f"A standard deviation from {n} trajectories is itself known to about "
        f"{100 / np.sqrt(2 * (n - 1)):.0f}%.",
    )


STUDIES = {
    "image-proposals": Study(
        name="image-proposals",
        title="Appendix C.2 in words: other proposals, MC dropout and the MLP",
        presets={"smoke": SMOKE, "cpu": CPU, "paper": PAPER},
        tasks=lambda settings: [task for way in WAYS.values() for task in ways(way, settings)],
        run=TRAJECTORIES,
        figures=figures,
        claims=claims,
    )
}
