"""The curves that the figures of trained networks are made of."""

from collections.abc import Mapping

from levelled.studies.images.settings import ImageSettings, differences
from levelled.studies.plots import COLOURS, Axes, band, canvas, footnote, legend, title
from levelled.studies.study import Figure
from levelled.studies.tables import Curve

__all__ = ["against_labels", "loss_and_accuracy", "small_print"]


def against_labels(axes: Axes, found: Mapping[str, Curve], what: str, *, shading: str) -> None:
    """One quantity of the networks trained each way, shaded by "sd" or by "stderr"."""
    for name, colour in COLOURS.items():
        curve = found[f"{name} {what}"]
        width = getattr(curve, shading)
        band(axes, curve.labels, curve.mean, curve.mean - width, curve.mean + width, colour, name)
    axes.margins(x=0.01)


def loss_and_accuracy(
    found: Mapping[str, Curve], settings: ImageSettings, named: str, *, shading: str
) -> Figure:
    """Test loss above test accuracy."""
    figure, (upper, lower) = canvas(rows=2, height=4.4)
    against_labels(upper, found, "nll", shading=shading)
    against_labels(lower, found, "accuracy", shading=shading)
    upper.set_ylabel("test NLL")
    lower.set_ylabel("test accuracy")
    lower.set_xlabel("labels $M$")
    title(upper, named)
    legend(upper, "upper right")
    told = "one standard error" if shading == "stderr" else "one standard deviation"
    footnote(figure, f"{small_print(settings)}\nshading {told}")
    return figure


def small_print(settings: ImageSettings, trajectories: int | None = None) -> str:
    """How many trajectories, and everything that differs from Table 1."""
    n = settings.trajectories if trajectories is None else trajectories
    words = f"{n:,} trajectories, seed {settings.seed}; {differences(settings)}".split(" ")
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > 66:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
