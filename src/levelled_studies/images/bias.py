"""Figures 2b, 2c and 5b: risk estimates for a fixed network, from points drawn by BALD."""

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.losses import log_loss
from levelled.proposals import boltzmann, mixture
from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, COLOURS
from levelled.samplers import race
from levelled.scores import bald
from levelled_studies.images.data import image_set
from levelled_studies.images.loop import Way
from levelled_studies.images.networks import classifier
from levelled_studies.images.pictures import draw_band, draw_line, finish, panel, setting
from levelled_studies.images.settings import PAPER, SMOKE, BiasSettings, NetworkSettings
from levelled_studies.images.shared import small_print
from levelled_studies.objectives import RUNNING
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import Curve, at_budgets, curves, summarise

__all__ = ["DATA", "FLOOR", "STUDIES", "TEMPERATURE", "caption", "claims", "figures"]

DATA = {"mnist": "2b", "fashion-mnist": "2c"}
_NAMES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}
FLOOR = 0.1
TEMPERATURE = 10_000
THIN = 15
"""The design ESS below which 1,000 trajectories may all miss what carries the weight."""
AT = 100
"""The number of labels at which single figures are told."""
SMALL = 0.25
"""The share of the risk up to which a bias counts as small."""


def run(settings: BiasSettings, task: str, rng: Generator) -> pa.Table:
    """The error of each estimate after each budget, with BALD's proposal and with a floor."""
    images = image_set(task, size=settings.size, rng=rng, most=settings.images)
    chosen = rng.permutation(len(images))[: settings.train]
    seed = int(rng.integers(2**31))
    model = classifier("cnn", settings, len(chosen), copies=1, seed=seed).fit(
        images.pool[chosen],
        images.pool_labels[chosen],
        validation=(images.validation, images.validation_labels),
    )
    losses = log_loss(images.test_labels, model.predict_proba(images.test), cap=50)
    scores = bald(model.sample_proba(images.test, settings.acquisition_samples))
    bare = boltzmann(scores, TEMPERATURE, normalise="sum", allow_zero=True)
    parts = []
    for proposal, p in {"BALD": bare, "floor": mixture(bare, FLOOR)}.items():
        table = summarise(_errors(losses, p, settings, rng), _budgets(settings))
        for column, value in (("proposal", proposal), ("data", task)):
            table = table.add_column(0, column, [[value] * len(table)])
        parts.append(table.append_column("risk", [[float(losses.mean())] * len(table)]))
    return pa.concat_tables(parts)


def _errors(
    losses: FloatArray, p: FloatArray, settings: BiasSettings, rng: Generator
) -> dict[str, FloatArray]:
    """True risk less each estimate, and the design ESS: [trajectories, budgets]."""
    seeds = rng.integers(2**31, size=settings.trajectories)
    drawn = [
        race(p, settings.budget, seed=int(seed), design=True, allow_zero=True) for seed in seeds
    ]
    probability = np.stack([draws.probability for draws in drawn])
    seen = np.stack([losses[draws.index] for draws in drawn])
    at = _budgets(settings) - 1
    series = {
        name: losses.mean() - running(seen, probability, len(losses))[:, at]
        for name, running in RUNNING.items()
    }
    dispersion = np.stack([_dispersion(draws) for draws in drawn])
    m = np.arange(1, settings.budget + 1)
    return series | {"design ESS": (m**2 / np.cumsum(dispersion, axis=1))[:, at]}


def _dispersion(draws: Draws) -> FloatArray:
    return (draws.design or {})["dispersion"]


def _budgets(settings: BiasSettings) -> IntArray:
    return np.arange(10, settings.budget + 1, 10)


def _scale_settings(base: NetworkSettings, **own: int) -> BiasSettings:
    names = asdict(NetworkSettings()).keys() - {"trajectories"}
    return replace(BiasSettings(), **{name: getattr(base, name) for name in names} | own)


def figures(table: pa.Table, settings: BiasSettings) -> Mapping[str, Plot]:
    """Figures 2b and 2c, each as it is and with a floor, and 5b."""
    text = {
        ("BALD", ""): setting(Way(), "sd"),
        ("floor", "-floor"): f"BALD, T = {TEMPERATURE:,}, floor of {FLOOR:g}, ± s.d.",
    }
    drawn = {
        f"figure-{number}{ending}": _bias(
            curves(table, data=data, proposal=proposal), _NAMES[data], below
        )
        for data, number in DATA.items()
        for (proposal, ending), below in text.items()
    }
    return drawn | {"figure-5b": _variances(curves(table, data="mnist", proposal="BALD"))}


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


def _variances(series: Mapping[str, Curve]) -> Plot:
    figure, axes = panel("MNIST, unbalanced: variance of the estimate", setting(Way()), "variance")
    for name in COLOURS:
        draw_line(axes, series[name].labels, series[name].sd ** 2, name)
    axes.set_yscale("log")
    return finish(figure, axes, series["naive"].labels)


def caption(settings: BiasSettings) -> str:
    """The caption of all panels."""
    return small_print(
        settings,
        map(Way, DATA),
        f"Risks of one network, trained on {settings.train:,} points of the pool, from points of "
        f"the test set; shading is one standard deviation.",
        "The vertical axis reaches as far as the naive band, on either side of 0: what heavy draws "
        "carry beyond is cut off.",
        f"With a floor (ours), a share of {FLOOR:g} of each proposal is uniform.",
        paper_ran="the paper: 1,000",
        paper=BiasSettings(),
    )


def claims(table: pa.Table, settings: BiasSettings) -> list[Claim]:
    """Claims on bias, where the design allows a decision, and on variance."""
    series = {
        (data, proposal): curves(table, data=data, proposal=proposal)
        for data in DATA
        for proposal in ("BALD", "floor")
    }
    risks = {row["data"]: row["risk"] for row in table.to_pylist()}
    text = [_overestimates(series["mnist", "BALD"], risks["mnist"])]
    text += [_unbiased(data, curve, "bare") for data in DATA for curve in [series[data, "BALD"]]]
    text += [_unbiased(data, curve, "floor") for data in DATA for curve in [series[data, "floor"]]]
    return [
        *text,
        _lower_variance(series["mnist", "BALD"]),
        _small_on_fashion(series, risks),
    ]


def _overestimates(series: Mapping[str, Curve], risk: float) -> Claim:
    naive = series["naive"]
    at = naive.at(AT) if AT in naive.labels else -1
    z = -naive.z
    return Claim(
        "image-naive-overestimates",
        "section 6, Figure 2b",
        "On MNIST the unweighted risk overestimates, because active learning samples the hardest "
        "points.",
        f"true risk ({risk:.4f}) less estimate {naive.text(int(naive.labels[at]))} at M = "
        f"{naive.labels[at]}; {z.min():.0f} standard errors or more at every M",
        "holds" if z.min() > 5 else "does not hold",
    )


def _unbiased(data: str, series: Mapping[str, Curve], kind: str) -> Claim:
    """Judged by z only where the design allows: elsewhere heavy points may never be drawn."""
    ess = series["design ESS"]
    tells = ess.median >= THIN if kind == "bare" else np.ones(len(ess.labels), bool)
    worst = {
        name: float(np.abs(series[name].z[tells]).max()) if tells.any() else 0.0
        for name in ("PURE", "LURE")
    }
    where = f"section 6, Figure {DATA[data]}"
    over = "" if kind == "bare" else f" over a floor of {FLOOR:g}"
    silent = (
        ""
        if tells.all()
        else (
            f"At {at_budgets(ess.labels, ~tells)} the design ESS is below {THIN} (median "
            f"{ess.median.min():.2g} and more): points of tiny probability carry the weight, most "
            f"trajectories never draw them, and this size cannot tell bias from chance."
        )
    )
    text = f"at most {worst['PURE']:.1f} and {worst['LURE']:.1f} standard errors from 0"
    return Claim(
        f"image-unbiased-{data}-{kind}",
        where if kind == "bare" else f"{where} (ours: with a floor)",
        f"With BALD's proposal{over}, R_PURE and R_LURE are unbiased on {data}.",
        f"{text} at {at_budgets(ess.labels, tells)}"
        if tells.any()
        else f"no M at which ESS >= {THIN}",
        "cannot tell"
        if not tells.any()
        else "holds"
        if max(worst.values()) < 4
        else "does not hold",
        silent,
    )


def _lower_variance(series: Mapping[str, Curve]) -> Claim:
    lure, naive = series["LURE"], series["naive"]
    lower = lure.sd < naive.sd
    at = lure.at(AT) if AT in lure.labels else -1
    return Claim(
        "image-lower-variance",
        "section 6, Figures 2b and 5b",
        "On MNIST the variance of R_PURE and R_LURE is lower than, or similar to, that of the "
        "biased estimate, because the proposal is effective.",
        f"s.d. at M = {lure.labels[at]}: {lure.sd[at]:.4f} for R_LURE, {series['PURE'].sd[at]:.4f} "
        f"for R_PURE, {naive.sd[at]:.4f} for the unweighted risk",
        "holds" if lower.all() else "holds partly" if lower.any() else "does not hold",
        "" if lower.all() else f"R_LURE varies less at {at_budgets(lure.labels, lower)}.",
    )


def _small_on_fashion(
    series: Mapping[tuple[str, str], Mapping[str, Curve]], risks: Mapping[str, float]
) -> Claim:
    bias = {data: series[data, "BALD"]["naive"] for data in DATA}
    at = bias["mnist"].at(AT) if AT in bias["mnist"].labels else -1
    share = {data: -bias[data].mean[at] / risks[data] for data in DATA}
    fashion = bias["fashion-mnist"]
    return Claim(
        "image-fashion-small",
        "section 6, Figure 2c",
        "For FashionMNIST the active learning bias is small, and the variance high in all cases.",
        f"naive less true risk at M = {bias['mnist'].labels[at]}: {share['fashion-mnist']:.2f} of "
        f"the risk on FashionMNIST ({with_error(-fashion.mean[at], fashion.stderr[at])}), "
        f"{share['mnist']:.2f} of it on MNIST",
        "holds"
        if share["fashion-mnist"] < SMALL
        else "holds partly"
        if share["fashion-mnist"] < share["mnist"]
        else "does not hold",
        f"Small: less than {SMALL:g} of the risk. Relative to the risk it is smaller than on MNIST."
        if SMALL <= share["fashion-mnist"] < share["mnist"]
        else "",
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
