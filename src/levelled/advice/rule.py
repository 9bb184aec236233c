"""The rule of the verdict: which sign, which size and which standard error decide.

Two views of the same question are asked, because each alone is too noisy or too coarse.

- Held out: by how much does weighted training lower the LURE risk of items the model has not
  seen? Nearly unbiased, but with some tens of labels its standard error is often as large as
  itself.
- Fitted: on the labels both models were fitted to, weighted training gains what the bias of
  the unweighted objective costs; this hardly varies, but it is optimistic. Where the model is
  right and there is nothing to gain, it would be half of what uneven weights cost in variance,
  and weights pay from the point where it exceeds that cost. With p parameters the overfitting
  bias is about p/M of the noise, and weights worth n labels make it p/n, so the cost is the
  share 1 - n/M of the overfitting bias. (The argument is that of Hausman's test, of which
  DuMouchel and Duncan's for weights in regressions is an instance.)
"""

import numpy as np

from levelled.advice.evidence import Evidence, WeightsEffect
from levelled.advice.verdict import Advice, Measured
from levelled.estimators.intervals.fixed import t_quantile

__all__ = ["EFFECTIVE", "LEVEL", "TOLERANCE", "UNCOMMON", "decide"]

EFFECTIVE = 10
"""Labels worth fewer uniform ones than this decide nothing."""
UNCOMMON = 10
"""Nor do classes with fewer labels than this outside the most common one."""
TOLERANCE = 0.02
"""A difference below this share of the risk counts as none."""
LEVEL = 0.99
"""A held-out gain that is significant at this level, one-sided, needs no second view."""
_SIGN = 0.5  # standard errors from which on a held-out gain is more than its sign
_CLEAR = 2.0  # times what it costs, from which on a gain on the labels is clear
_SMALL = 2.0  # times the overfitting bias, up to which an active learning bias is small beside it
_ANSWERED_ALIKE = (
    "held-out items are given the same answers with and without weights, but for rounding."
)


def decide(found: Evidence, change: WeightsEffect) -> tuple[Advice, str]:
    """The advice that the evidence supports, and the sentence that says why.

    With D +- s the held-out gain, R the held-out risk without weights, G the gain on the labels,
    C the cost of the weights, the first that applies:

        not enough labels   fewer than 10 effective labels, or 10 outside the commonest class
        no difference       held-out items are given the same answers, but for rounding
        no difference       |D| + s <= 2% of R
        correct             D > t(0.99) s,  or  D > s/2 and G > 2 C and |ALB| > OFB
        do not correct      D < 0 and G < C and |ALB| < 2 OFB
        not enough labels   otherwise
    """
    few = _too_few(found)
    if few:
        return "not enough labels", few
    if change.same_answers:
        return "no difference", _ANSWERED_ALIKE
    gain, stderr = change.held_out
    if abs(gain) + stderr <= TOLERANCE * found.risks["naive"].value:
        return "no difference", _same(found)
    if gain > t_quantile(np.asarray(change.degrees_of_freedom), LEVEL) * stderr:
        return "correct", _significant(found, change)
    alb, ofb = abs(found.active_learning_bias.value), found.overfitting_bias.value
    if gain > _SIGN * stderr and change.on_labels > _CLEAR * change.cost and alb > ofb:
        return "correct", f"{_biases(found)}; {_on_labels(change)}; {_moved(found, change)}."
    if gain < 0 and change.on_labels < change.cost and alb < _SMALL * ofb:
        return "do not correct", _against(found, change)
    return "not enough labels", _undecided(found, change)


def _too_few(found: Evidence) -> str:
    M, size, uncommon = found.n_labels, found.n_effective, found.n_uncommon
    if size < EFFECTIVE:
        return (
            f"the weights are so uneven that {M} labels are worth {size:.1f}, and {EFFECTIVE} are "
            f"needed: raise the floor of the proposal."
        )
    if uncommon is not None and uncommon < UNCOMMON:
        return (
            f"only {uncommon} of {M} labels are not of the most common class, and {UNCOMMON} are "
            f"needed."
        )
    return ""


def _biases(found: Evidence) -> str:
    """The paper's comparison (section 7): which of the two biases is the larger."""
    alb, ofb = abs(found.active_learning_bias.value), found.overfitting_bias.value
    if ofb <= 0:
        return (
            f"active learning bias is {found.active_learning_bias.value:.2g} and there is no "
            f"overfitting bias"
        )
    if alb >= ofb:
        return f"active learning bias is {alb / ofb:.2g} times the overfitting bias"
    if found.interpolates:
        return "the model fits its own labels exactly, so all of its held-out risk is overfitting"
    times = f"{ofb / alb:.2g} times" if alb > 0.01 * ofb else "more than 100 times"
    return f"overfitting bias is {times} the active learning bias"


def _on_labels(change: WeightsEffect) -> str:
    """The gain on the labels, G, beside the cost of the weights, C."""
    gain, cost = change.on_labels, change.cost
    if gain < 0:
        told = f"lose {-gain:.3g} and cost {cost:.3g} in variance"
    elif cost <= 0:
        told = f"gain {gain:.3g} and cost nothing in variance"
    else:
        beside = "between once and twice"
        if gain < cost:
            beside = "less than"
        elif gain > _CLEAR * cost:
            beside = "more than twice"
        told = f"gain {gain:.3g}, {beside} the {cost:.3g} they cost in variance"
    return f"on the labels themselves weights {told}"


def _moved(found: Evidence, change: WeightsEffect) -> str:
    naive, lure = found.risks["naive"].value, found.risks["lure"].value
    verb = "raises" if change.held_out.value < 0 else "lowers"
    by = Measured(abs(change.held_out.value), change.held_out.stderr)
    return f"weighted training {verb} held-out risk from {naive:.3g} to {lure:.3g}, by {by}"


def _same(found: Evidence) -> str:
    naive, lure = found.risks["naive"].value, found.risks["lure"].value
    return (
        f"held-out risk is {naive:.4g} without weights and {lure:.4g} with them: the difference, "
        f"with one standard error added, is within {TOLERANCE:.0%} of the risk."
    )


def _significant(found: Evidence, change: WeightsEffect) -> str:
    return f"{_moved(found, change)}, more than chance explains at {LEVEL:.0%}."


def _against(found: Evidence, change: WeightsEffect) -> str:
    """The biases are part of it only where they speak against weights too."""
    told = f"{_on_labels(change)}; {_moved(found, change)}."
    alb, ofb = abs(found.active_learning_bias.value), found.overfitting_bias.value
    return f"{_biases(found)}; {told}" if alb < ofb else told


def _undecided(found: Evidence, change: WeightsEffect) -> str:
    """Which way the held-out risk points, and what does not bear it out."""
    gain, stderr = change.held_out
    alb, ofb = abs(found.active_learning_bias.value), found.overfitting_bias.value
    if gain < 0:
        doubts = {
            _on_labels(change): change.on_labels >= change.cost,
            f"{_biases(found)}, which speaks for weights": alb >= _SMALL * ofb,
        }
    else:
        doubts = {
            "that is within half a standard error": gain <= _SIGN * stderr,
            _on_labels(change): change.on_labels <= _CLEAR * change.cost,
            f"{_biases(found)}, which speaks against weights": alb <= ofb,
        }
    but = "; ".join(doubt for doubt, applies in doubts.items() if applies)
    return f"{_moved(found, change)}, but {but}."
