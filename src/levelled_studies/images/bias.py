"""Figures 2b, 2c and 5b: risk estimates for a fixed network, from points drawn by BALD."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import BoolArray, FloatArray, IntArray
from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, COLOURS
from levelled_studies.images.acquisition import propose
from levelled_studies.images.data import image_set
from levelled_studies.images.fixed import fixed_network, risk_errors
from levelled_studies.images.loop import Way
from levelled_studies.images.pictures import draw_band, draw_line, finish, panel
from levelled_studies.images.settings import PAPER, SMOKE, BiasSettings, NetworkSettings
from levelled_studies.images.shared import small_print
from levelled_studies.study import Claim, Plot, Ruling, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise, verdict

__all__ = ["DATA", "FLOOR", "PROPOSALS", "STUDIES", "Drawing", "caption", "claims", "figures"]

DATA = {"mnist": "2b", "fashion-mnist": "2c"}
_NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}
FLOOR = 0.1


@dataclass(frozen=True, slots=True)
class Drawing:
    """One proposal of the figures: its name, its words, and the ending of its panels' names."""

    proposal: str
    text: str
    ending: str = ""
    note: str = ""
    """Where the proposal comes from, after a claim's place in the paper."""
    floor: float = 0.0

    def propose(self, scores: FloatArray) -> FloatArray:
        """The probability of each point of the test set."""
        return propose(scores, self.proposal, floor=self.floor)


_MILDER = " (ours: milder)"
PROPOSALS = {
    "BALD": Drawing("10000", "BALD at T = 10,000"),
    "floor": Drawing(
        "10000",
        f"BALD at T = 10,000 over a floor of {FLOOR:g}",
        "-floor",
        " (ours: with a floor)",
        FLOOR,
    ),
    "proportional": Drawing(
        "proportional",
        "probabilities proportional to BALD",
        "-proportional",
        " (the authors' script)",
    ),
    "T2500": Drawing("2500", "BALD at T = 2,500", "-T2500", _MILDER),
    "T1000": Drawing("1000", "BALD at T = 1,000", "-T1000", _MILDER),
}
"""Table 1's proposal and that of the authors' script for Figure 2, with others beside them."""
THIN = 15
"""The design ESS below which 1,000 trajectories may all miss what carries the weight."""
AT = 100
"""The number of labels at which single figures are told."""
SMALL = 0.25
"""The share of the risk up to which a bias counts as small."""
SIMILAR = 1.25
"""The ratio of standard deviations up to which they count as similar."""


def run(settings: BiasSettings, task: str, rng: Generator) -> pa.Table:
    """The error of each estimate after each budget, with each proposal."""
    images = image_set(task, size=settings.size, rng=rng, most=settings.images)
    fixed = fixed_network(images, settings, train=settings.train, rng=rng)
    budgets = _budgets(settings)
    parts = []
    for name, drawing in PROPOSALS.items():
        p = drawing.propose(fixed.scores)
        errors = risk_errors(fixed.losses, p, budgets, settings.trajectories, rng=rng)
        table = summarise(errors, budgets)
        for column, value in (("proposal", name), ("data", task)):
            table = table.add_column(0, column, [[value] * len(table)])
        parts.append(table.append_column("risk", [[float(fixed.losses.mean())] * len(table)]))
    return pa.concat_tables(parts)


def _budgets(settings: BiasSettings) -> IntArray:
    return np.arange(10, settings.budget + 1, 10)


def _scale_settings(base: NetworkSettings, **own: int) -> BiasSettings:
    names = asdict(NetworkSettings()).keys() - {"trajectories"}
    return replace(BiasSettings(), **{name: getattr(base, name) for name in names} | own)


def figures(table: pa.Table, settings: BiasSettings) -> Mapping[str, Plot]:
    """Figures 2b, 2c and 5b with each proposal."""
    drawn = {}
    for name, drawing in PROPOSALS.items():
        series = {data: curves(table, data=data, proposal=name) for data in DATA}
        below = drawing.text.replace(" over a floor", ", floor")  # a title is short
        for data, number in DATA.items():
            named = f"figure-{number}{drawing.ending}"
            drawn[named] = _bias(series[data], _NAMES[data], f"{below}, ± s.d.")
        drawn[f"figure-5b{drawing.ending}"] = _variances(series["mnist"], below)
    return drawn


def _bias(series: Mapping[str, Curve], named: str, below: str) -> Plot:
    figure, axes = panel(
        f"{named}, unbalanced: bias of the risk", below, "true risk \N{MINUS SIGN} estimate"
    )
    axes.axhline(0, color=BLACK, linewidth=0.6)
    for estimator in COLOURS:
        draw_band(axes, series[estimator], estimator, width="sd")
    low, high = axes.get_ylim()
    naive = series["naive"]
    reach = 1.05 * float((np.abs(naive.mean) + naive.sd).max())
    axes.set_ylim(max(low, -reach), min(high, reach))  # a single heavy draw would hide the rest
    return finish(figure, axes, naive.labels)


def _variances(series: Mapping[str, Curve], below: str) -> Plot:
    figure, axes = panel("MNIST, unbalanced: variance of the estimate", below, "variance")
    for name in COLOURS:
        draw_line(axes, series[name].labels, series[name].sd ** 2, name)
    axes.set_yscale("log")
    return finish(figure, axes, series["naive"].labels)


def caption(settings: BiasSettings) -> str:
    """The caption of all panels."""
    return small_print(
        settings,
        map(Way, DATA),
        f"One network, trained on {settings.train:,} points of the pool, draws points of the test "
        f"set; shading is one s.d., cut off where it leaves the range of the naive band.",
        paper_ran="the paper gives 1,000 for Figure 2a, and no number for images",
    )


def claims(table: pa.Table, settings: BiasSettings) -> list[Claim]:
    """Claims on bias, where the design allows a decision, and on variance, for each proposal."""
    series = {
        (data, name): curves(table, data=data, proposal=name) for data in DATA for name in PROPOSALS
    }
    risks = {row["data"]: row["risk"] for row in table.to_pylist()}
    return [
        _overestimates({name: series["mnist", name]["naive"] for name in PROPOSALS}, risks),
        *(_unbiased(data, name, series[data, name]) for data in DATA for name in PROPOSALS),
        *(_lower_variance(data, name, series[data, name]) for data in DATA for name in PROPOSALS),
        *(
            _small_on_fashion(name, {data: series[data, name]["naive"] for data in DATA}, risks)
            for name in PROPOSALS
        ),
    ]


def _overestimates(naive: Mapping[str, Curve], risks: Mapping[str, float]) -> Claim:
    labels = _told(naive["BALD"])[-1]
    each = ", ".join(
        f"{curve.text(labels)} with {PROPOSALS[at].text}" for at, curve in naive.items()
    )
    z = [-float(curve.z.max()) for curve in naive.values()]
    return Claim(
        "image-naive-overestimates",
        "section 6, Figure 2b",
        "On MNIST the unweighted risk overestimates, because active learning samples the hardest "
        "points.",
        f"true risk ({risks['mnist']:.4f}) less estimate at M = {labels}: {each}; {min(z):.0f} "
        f"standard errors or more at every M",
        verdict([one > 5 for one in z]),
    )


def _told(curve: Curve) -> list[int]:
    """The numbers of labels at which figures are told: the first, the last, and 100 if it is there.

    The last in the list is 100 or, without it, the last.
    """
    first, last = int(curve.labels[0]), int(curve.labels[-1])
    return [first, last, AT] if AT in curve.labels else [first, last]


def _unbiased(data: str, name: str, series: Mapping[str, Curve]) -> Claim:
    """Judged by z only where the design allows: elsewhere heavy points may never be drawn."""
    ess = series["design ESS"]
    tells = ess.median >= THIN
    drawing = PROPOSALS[name]
    ruling: Ruling = "holds" if max(_farthest(series, tells)) < 4 else "does not hold"
    return Claim(
        f"image-unbiased-{data}-{name}",
        f"section 6, Figure {DATA[data]}{drawing.note}",
        f"With {drawing.text}, R_PURE and R_LURE are unbiased on {_NAMES[data]}.",
        "standard errors from 0, at most: "
        + "; ".join(
            f"{pure:.1f} (R_PURE), {lure:.1f} (R_LURE) at {at_budgets(ess.labels, where)}{note}"
            for where, note in ((tells, ""), (~tells, f", where the design ESS is below {THIN}"))
            if where.any()
            for pure, lure in [_farthest(series, where)]
        ),
        ruling if tells.any() else "cannot tell",
        ""
        if tells.all()
        else f"Judged where the design ESS is at least {THIN} (4 standard errors are allowed). "
        f"Below it, down to a median of {ess.median.min():.2g}, points of tiny probability carry "
        f"the weight and may never be drawn; standard errors are then too small.",
    )


def _farthest(series: Mapping[str, Curve], where: BoolArray) -> tuple[float, float]:
    pure, lure = (np.abs(series[name].z[where]) for name in ("PURE", "LURE"))
    return float(pure.max(initial=0)), float(lure.max(initial=0))


def _lower_variance(data: str, name: str, series: Mapping[str, Curve]) -> Claim:
    ratio = {one: series[one].sd / series["naive"].sd for one in ("LURE", "PURE")}
    labels = series["naive"].labels
    similar = np.maximum(ratio["LURE"], ratio["PURE"]) <= SIMILAR
    drawing, told = PROPOSALS[name], sorted(_told(series["naive"]))
    at = [series["naive"].at(each) for each in told]
    lure, pure = (", ".join(f"{each:.2f}" for each in ratio[one][at]) for one in ratio)
    return Claim(
        f"image-lower-variance-{data}-{name}",
        f"section 6, {'Figures 2b and 5b' if data == 'mnist' else 'Figure 2c'}{drawing.note}",
        f"With {drawing.text}, the variance of R_PURE and R_LURE on {_NAMES[data]} is lower than, "
        f"or similar to, that of the biased estimate.",
        f"s.d. over that of the unweighted risk: {lure} (R_LURE), {pure} (R_PURE) at M = "
        f"{', '.join(map(str, told))}",
        verdict(similar),
        f"Lower or similar (up to {SIMILAR:g} times) at {at_budgets(labels, similar)}.",
    )


def _small_on_fashion(name: str, bias: Mapping[str, Curve], risks: Mapping[str, float]) -> Claim:
    labels = _told(bias["mnist"])[-1]
    at = bias["mnist"].at(labels)
    share = {data: -bias[data].mean[at] / risks[data] for data in DATA}
    fashion = bias["fashion-mnist"]
    small = share["fashion-mnist"] < SMALL
    return Claim(
        f"image-fashion-small-{name}",
        f"section 6, Figure 2c{PROPOSALS[name].note}",
        f"With {PROPOSALS[name].text}, the active learning bias is small for FashionMNIST.",
        f"naive less true risk at M = {labels}: {share['fashion-mnist']:.3g} of "
        f"the risk on FashionMNIST ({with_error(-fashion.mean[at], fashion.stderr[at])}), "
        f"{share['mnist']:.3g} of it on MNIST",
        verdict([small, small or share["fashion-mnist"] < share["mnist"]]),
        f"Small: less than {SMALL:g} of the risk; partly so if smaller than on MNIST.",
    )


STUDIES = {
    "image-bias": Study(
        name="image-bias",
        title="Figures 2b, 2c and 5b: bias and variance of risk estimates for a fixed network",
        presets={
            "smoke": _scale_settings(SMOKE, images=2000, trajectories=20, train=30, budget=30),
            "cpu": _scale_settings(PAPER, steps=1000, check_every=50, patience=5),
            "paper": _scale_settings(PAPER),
        },
        tasks=lambda settings: list(DATA),
        run=run,
        figures=figures,
        claims=claims,
        caption=caption,
    )
}
