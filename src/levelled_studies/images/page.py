"""The page of the image experiments: every figure with what the ledger says of it.

python -m levelled_studies.images.page docs/        # docs/paper/images.md from docs/results
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase

from levelled_studies.images.layout import FIGURES, Panel, PaperFigure
from levelled_studies.images.settings import EPOCH_ITEMS, EPOCHS, PAPER
from levelled_studies.images.table1 import DROPOUT, KL, WEIGHT_DECAY, settings_table
from levelled_studies.runner import load
from levelled_studies.study import Claim

__all__ = ["page", "write"]

_INTRODUCTION = """\
# The paper's image experiments

Sections 6 and 7 and appendix C.2: Bayesian networks on noisy, unbalanced MNIST and FashionMNIST.
A tenth of the training labels is replaced at random, then classes are thinned out in the ratios
1, .5, .5, .2, .2, .2, .1, .1, .01, .01; of a quarter of that, 1,000 images are for early stopping
and the rest is the pool. Ten points are drawn uniformly; then a network trained on the points drawn
scores the pool by BALD, the scores are divided by their sum, and the next point is drawn with
probability proportional to exp(T s), up to 70 points. At checkpoints fresh networks are trained
on the same draws with naive, PURE and LURE weights, from the same start, and tested. The data are
drawn anew for each trajectory. Beside them a network that has seen none of the pool, trained on
four fifths of the validation images, shows the active learning bias alone.

Panels are laid out and lettered as in the paper; those without a letter are ours. Panels (a) of
linear regression are explained on the page of [studies](studies.md).

## What differs from the paper

The paper ran 45 trajectories, 2 to 4 hours each on a GPU. The results here come from two cores, and
differ from its Table 1 as follows; all else is the same. Captions say how many trajectories."""

_CHECKPOINTS = (PAPER.budget - PAPER.start) // PAPER.every + 1
_NETWORKS = PAPER.budget - PAPER.start + 3 * _CHECKPOINTS + 1
_STEPS = _NETWORKS * EPOCHS * PAPER.epoch

_OPEN = f"""\
- **Epoch.** Table 1 has up to {EPOCHS} epochs "with 1000 copies of data". In the authors' code an
  epoch is {EPOCH_ITEMS:,} items in all, the labels repeated to that length: {PAPER.epoch} steps of
  {PAPER.batch_size} items. So it is here.
- **Figure 2.** Table 1 has the proposal exp(T s) with T = 10,000. The authors' script for Figure 2,
  as published, draws in proportion to the score; it also has MC dropout, 100 training points and
  other class ratios, while the text has 1,000 points. Both proposals are shown, and milder ones.
- **MC dropout.** In the authors' code the loss of a batch is averaged before it is multiplied by
  the weights, so that weights only rescale the steps of a network with dropout. Here each item's
  loss is weighted. Channels and hidden units are left out with probability {DROPOUT:g}, other ones
  for each image.
- **Not in Table 1.** The KL divergence times {KL:g} is divided by the number of labels and not
  weighted; weight decay is {WEIGHT_DECAY:g}. Test images are in the class ratios of the pool, with
  clean labels. [Networks](../bayes.md#differences-from-the-paper) lists the rest.

## Run them

```
levelled reproduce --fetch mnist --fetch fashion-mnist
levelled reproduce image-bias --out docs/results
levelled reproduce image-training --data mnist --network cnn --workers 2 --out docs/results
levelled reproduce image-training --size 28 --trajectories 4 --out docs/results
levelled reproduce image-temperature --workers 2 --out docs/results
```

Each trajectory is saved row by row in `image-trajectories` (`image-trajectories-28` at 28 pixels),
which all these studies but the first share. A study that was stopped continues after the last row,
with the same numbers, and `--trajectories` adds more trajectories at any time. This page is
generated: `python -m levelled_studies.images.page docs/`.

A trajectory of 28 pixels with the steps of the 16-pixel ones takes some twelve minutes of one core.
With `--preset paper`, one acquisition step took on one core, in seconds of the processor (`python
benchmarks/bench_bayes.py paper`):

| labels | training, stopped early | scoring 3,199 images with 100 samples |
| --- | --- | --- |
| 10 | 24 s, 480 steps of 50 ms | 17 s |
| 70 | 76 s, 848 steps of 90 ms | 17 s |

A trajectory trains {_NETWORKS} networks, with at most {_STEPS:,} steps: up to 4 hours of one core.
No time was measured on a GPU (`--device cuda`). If a step takes 5 ms there, which for such a small
network is mostly the launching of some hundred kernels, a trajectory takes up to 20 minutes,
the 45 of Figures 3b and 3c 15 hours, and the eleven kinds of trajectories of all figures 165 hours.
At the paper's own 2 to 4 hours each, the 45 take 90 to 180 hours."""


def page(results: Path) -> str:
    """The page as Markdown, from the folder that holds one folder a study.

    Figures of which no study has finished are left out.
    """
    sections = [
        _section(figure, results) for figure in FIGURES if _finished_studies(figure, results)
    ]
    top = [_INTRODUCTION, settings_table(results), _OPEN, _missing(results) if sections else ""]
    return "\n\n".join([*filter(None, top), *sections]) + "\n"


def _missing(results: Path) -> str:
    """The panels of studies that have not finished, in words."""
    panels = [panel for figure in FIGURES for panel in figure]
    left_out = [panel.caption for panel in panels if not (results / panel.file).exists()]
    return f"Panels whose study has not finished: {'; '.join(left_out)}." if left_out else ""


def write(docs: Path) -> Path:
    """Write paper/images.md from results, both in `docs`."""
    target = docs / "paper" / "images.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(docs / "results"))
    return target


def _finished_studies(figure: PaperFigure, results: Path) -> list[str]:
    """The folders of a figure's studies that have finished, in the order of the panels."""
    return [folder for folder in figure.folders if (results / folder / "claims.json").exists()]


def _section(figure: PaperFigure, results: Path) -> str:
    folders = _finished_studies(figure, results)
    claims = _verdicts(figure, folders, results)
    parts = [
        f"## {figure.title}",
        _grid(figure, results),
        _captions(figure, folders, results),
        _commands(folders, results),
        "Claims; the rule of each is in the [ledger](claims.md):",
        "\n".join(["| | claim | verdict | measured |", "| --- | --- | --- | --- |", *claims]),
    ]
    return "\n\n".join(part for part in parts if part)


def _grid(figure: PaperFigure, results: Path) -> str:
    """Rows of pictures, each above its letter and caption; what is not there leaves a gap."""
    rows = [
        [panel if panel and (results / panel.file).exists() else None for panel in row]
        for row in figure.rows
    ]
    width = max(map(len, rows))
    lines = [
        _line(["" if panel is None else caption(panel) for panel in row], width)
        for row in rows
        if any(row)
        for caption in (_picture, _below)
    ]
    lines[1:1] = [_line([":---:"] * width, width)]
    return "\n".join(lines) if lines[1:] else ""


def _line(cells: Sequence[str], width: int) -> str:
    return f"| {' | '.join([*cells, *[''] * (width - len(cells))])} |"


def _picture(panel: Panel) -> str:
    return f"![{_below(panel)}](../results/{panel.file})"


def _below(panel: Panel) -> str:
    return f"({panel.letter}) {panel.caption}" if panel.letter else panel.caption


def _captions(figure: PaperFigure, folders: Sequence[str], results: Path) -> str:
    """Every line of the studies' captions once, after the letters of the panels it is about."""
    saying: dict[str, list[str]] = {}
    for folder in folders:
        for line in _caption(results / folder):
            saying.setdefault(line, []).append(folder)
    grouped: dict[str, list[str]] = {}
    for line, who in saying.items():
        grouped.setdefault(_letters(figure, who), []).append(line)
    return "\n".join(f"- {whose}{' '.join(lines)}" for whose, lines in grouped.items())


def _caption(folder: Path) -> list[str]:
    path = folder / "caption.txt"
    return path.read_text().splitlines() if path.exists() else []


def _letters(figure: PaperFigure, folders: Sequence[str], among: str = ascii_lowercase) -> str:
    """The paper's letters of the panels that these studies drew, before what is said of them.

    A figure that is all of one study needs none.
    """
    letters = [panel.letter for panel in figure if panel.letter and panel.folder in folders]
    caption = ", ".join(f"({one})" for one in dict.fromkeys(letters) if one in among)
    return f"{caption}: " if caption and len(figure.folders) > 1 else ""


def _commands(folders: Sequence[str], results: Path) -> str:
    lines = [f"levelled reproduce {_command(results / folder)}" for folder in folders]
    return "\n".join(["```", *lines, "```"])


def _command(folder: Path) -> str:
    settings = json.loads((folder / "settings.json").read_text())
    names = ["data", "network", "trajectories"]
    if folder.name.endswith(f"-{settings.get('size')}"):  # not the size of the preset
        names.insert(2, "size")
    chosen = [f"--{name} {settings[name]}" for name in names if name in settings]
    return " ".join([settings["study"], *chosen])


def _verdicts(figure: PaperFigure, folders: Sequence[str], results: Path) -> Iterator[str]:
    for folder in folders:
        for claim in load(results / folder):
            if _about(claim, folder, figure):
                named = "".join(_panels_named(claim).get(figure.number, ())) or ascii_lowercase
                cells = [claim.says, f"**{claim.verdict}**", claim.measured]
                letters = _letters(figure, [folder], named).rstrip(": ")
                yield _line([letters, *(cell.replace("|", "\\|") for cell in cells)], 4)


def _about(claim: Claim, folder: str, figure: PaperFigure) -> bool:
    """True if a claim names the figure; one that names none stands at the first of its study."""
    showing = [each.number for each in FIGURES if folder in each.folders]
    named = _panels_named(claim).keys() & set(showing)
    return figure.number in (named or showing[:1])


def _panels_named(claim: Claim) -> dict[str, list[str]]:
    """The figures that a claim says it is about, each with its letters if it names any.

    >>> _panels_named(Claim("loss", "section 6, Figures 3b, 3c and 8", "It falls.", "", "holds"))
    {'3': ['b', 'c'], '8': ['']}
    """
    letters: dict[str, list[str]] = {}
    for number, letter in re.findall(r"\b(\d+)([a-f]?)\b", claim.where.partition("Figure")[2]):
        letters.setdefault(number, []).append(letter)
    return letters


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
