"""The figures of sections 6 and 7 and of appendix C.2, as rows of panels as in the paper."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

__all__ = ["FIGURES", "Panel", "PaperFigure"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture, by its place among the results, with the paper's letter and caption."""

    file: str
    caption: str
    letter: str = ""
    """Empty if the paper has no such panel."""

    @property
    def folder(self) -> str:
        """The folder of the study that draws it."""
        return str(PurePosixPath(self.file).parent)


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """Rows of panels, or gaps, under a title; `number` is empty if the paper has words instead."""

    title: str
    rows: tuple[tuple[Panel | None, ...], ...]
    number: str = ""

    def __iter__(self) -> Iterator[Panel]:
        return (panel for row in self.rows for panel in row if panel)

    @property
    def folders(self) -> list[str]:
        """The folders of the studies that draw its panels, in their order."""
        return list(dict.fromkeys(panel.folder for panel in self))


def _training(setting: str, quantity: str, caption: str, letter: str, ending: str = "") -> Panel:
    return Panel(f"image-training/{setting}/{quantity}{ending}.png", caption, letter)


def _temperature(T: int, quantity: str, caption: str, letter: str = "") -> Panel:
    return Panel(f"image-temperature/T{T}-{quantity}.png", f"T = {T:,}: {caption}", letter)


def _fixed(ending: str, caption: str, letters: str = "  ") -> tuple[Panel, Panel]:
    """Figures 2b and 2c with one proposal."""
    return (
        Panel(f"image-bias/figure-2b{ending}.png", f"MNIST: {caption}", letters[0].strip()),
        Panel(f"image-bias/figure-2c{ending}.png", f"FashionMNIST: {caption}", letters[1].strip()),
    )


def _variance(ending: str, caption: str, letter: str = "") -> Panel:
    return Panel(f"image-bias/figure-5b{ending}.png", f"MNIST: {caption}", letter)


FIGURES = (
    PaperFigure(
        "Figure 2: the bias of active learning, for a fixed model",
        (
            (
                Panel("linear-bias/figure-2a.png", "Linear regression", "a"),
                *_fixed("", "T = 10,000 (Table 1)", letters="bc"),
            ),
            (None, *_fixed("-proportional", "in proportion to BALD (the authors' script)")),
            (None, *_fixed("-T2500", "T = 2,500 (ours)")),
            (None, *_fixed("-T1000", "T = 1,000 (ours)")),
            (None, *_fixed("-floor", "T = 10,000 over a floor (ours)")),
        ),
        "2",
    ),
    PaperFigure(
        "Figure 3: models trained with naive, PURE and LURE weights",
        (
            (
                Panel("linear-training/figure-3a.png", "Linear regression: test MSE", "a"),
                _training("mnist-cnn", "nll", "MNIST: test NLL", "b"),
                _training("mnist-cnn", "accuracy", "MNIST: test accuracy", "c"),
            ),
            (
                _training("fashion-mnist-cnn", "nll", "FashionMNIST: test NLL", "d"),
                _training("mnist-dropout", "nll", "MNIST (MC dropout): test NLL", "e"),
                _training("mnist-balanced-cnn", "nll", "MNIST (balanced): test NLL", "f"),
            ),
            (
                None,
                _training("mnist-cnn-28", "nll", "MNIST at 28 pixels: test NLL", "b"),
                _training("mnist-cnn-28", "accuracy", "MNIST at 28 pixels: accuracy", "c"),
            ),
        ),
        "3",
    ),
    PaperFigure(
        "Figure 4: overfitting bias beside active learning bias",
        (
            (
                Panel("linear-overfitting/figure-4a.png", "Linear regression", "a"),
                Panel("image-overfitting/figure-4b.png", "BNN: MNIST", "b"),
                Panel("image-overfitting/figure-4c.png", "BNN: FashionMNIST", "c"),
            ),
        ),
        "4",
    ),
    PaperFigure(
        "Figure 5: variance of the estimates",
        (
            (
                Panel("linear-variance/figure-5a.png", "Linear regression", "a"),
                _variance("", "T = 10,000 (Table 1)", "b"),
                _variance("-proportional", "in proportion to BALD (the authors' script)"),
            ),
            (
                _variance("-T2500", "T = 2,500 (ours)"),
                _variance("-T1000", "T = 1,000 (ours)"),
                _variance("-floor", "T = 10,000 over a floor (ours)"),
            ),
        ),
        "5",
    ),
    PaperFigure(
        "Figure 7: LURE weights for choosing the points, too",
        (
            (
                Panel("image-lure-throughout/nll.png", "Test loss", "a"),
                Panel("image-lure-throughout/accuracy.png", "Test accuracy", "b"),
            ),
        ),
        "7",
    ),
    PaperFigure(
        "Figure 8: Figures 3b and 3c with standard errors",
        (
            (
                _training("mnist-cnn", "nll", "Test loss", "a", "-standard-errors"),
                _training("mnist-cnn", "accuracy", "Test accuracy", "b", "-standard-errors"),
            ),
        ),
        "8",
    ),
    PaperFigure(
        "Figure 9: other temperatures",
        (
            (
                _temperature(5_000, "nll", "NLL", "a"),
                _temperature(15_000, "nll", "NLL", "b"),
                _temperature(20_000, "nll", "NLL", "c"),
            ),
            (
                _temperature(5_000, "accuracy", "accuracy", "d"),
                _temperature(15_000, "accuracy", "accuracy", "e"),
                _temperature(20_000, "accuracy", "accuracy", "f"),
            ),
            (
                _temperature(1_000, "nll", "NLL (ours)"),
                _temperature(10_000, "nll", "NLL (ours; as in Figure 3)"),
            ),
            (
                _temperature(1_000, "accuracy", "accuracy (ours)"),
                _temperature(10_000, "accuracy", "accuracy (ours; as in Figure 3)"),
            ),
        ),
        "9",
    ),
    PaperFigure(
        "Figure 10: further settings",
        (
            (
                _training("fashion-mnist-cnn", "accuracy", "FashionMNIST: accuracy", "a"),
                _training("mnist-dropout", "accuracy", "MNIST (MC dropout): accuracy", "b"),
                _training("mnist-balanced-cnn", "accuracy", "MNIST (balanced): accuracy", "c"),
            ),
            (
                _training("mnist-mlp", "nll", "MNIST (MLP): NLL", "d"),
                _training("mnist-mlp", "accuracy", "MNIST (MLP): accuracy", "e"),
            ),
        ),
        "10",
    ),
    PaperFigure(
        "Told in words: other proposals, MC dropout and the MLP",
        (
            (
                Panel("image-proposals/evenness.png", "Evenness of the proposals"),
                Panel("image-proposals/spread.png", "Spread of the scores"),
            ),
        ),
    ),
)
"""In the paper's order. Panels without a letter are ours."""
