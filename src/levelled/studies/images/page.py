"""The page of the image experiments: every figure with what the ledger says of it.

python -m levelled.studies.images.page docs/        # writes docs/images.md from docs/results
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from levelled.studies import NAMES, find
from levelled.studies.runner import load

__all__ = ["page", "write"]

_INTRODUCTION = """\
# The paper's image experiments

Sections 6 and 7 and appendix C.2: Bayesian networks on noisy, unbalanced MNIST and FashionMNIST.
A tenth of the training labels is replaced at random, then classes are thinned out in the ratios
1, .5, .5, .2, .2, .2, .1, .1, .01, .01; of a quarter of that, 1,000 images are for early stopping
and the rest is the pool. Ten points are drawn uniformly; then a network trained on what was drawn
scores the pool by BALD, the scores are divided by their sum, and the next point is drawn with
probability proportional to exp(T s), up to 70 points. At checkpoints fresh networks are trained
on the same draws with naive, PURE and LURE weights, from the same start, and tested. The data are
drawn anew for each trajectory. Beside them a network that has seen none of the pool, trained on
the 1,000 validation images, shows the active learning bias alone.

The paper ran 45 trajectories of hours on a GPU. What is shown here was run on two cores: the
fixed network at full size but for the length of its training, the trained ones with smaller
images, fewer samples and steps, and fewer trajectories. Each caption names every difference from
Table 1, and each claim says what so many trajectories can tell. The method is the same, and
`--preset paper` runs it at full size.

```
levelled data fetch mnist fashion-mnist
levelled reproduce image-bias --out docs/results
levelled reproduce image-training --data mnist --network cnn --workers 2 --out docs/results
levelled reproduce image-temperature --trajectories 3 --workers 2 --out docs/results
```

Each trajectory is kept row by row in `image-trajectories`, which all these studies but the first
share: killed at any point they go on after the last row, with the same numbers, and more
trajectories can be added at any time with `--trajectories`. This page is generated: `python -m
levelled.studies.images.page docs/`."""


def page(results: Path) -> str:
    """The page as Markdown, from the folder that holds one folder a study."""
    names = [name for name in NAMES if name.startswith("image-")]
    found = [
        (name, claims.parent)
        for name in names
        for claims in sorted((results / name).rglob("claims.json"))
    ]
    return "\n\n".join([_INTRODUCTION, *(_section(*each, results) for each in found)]) + "\n"


def write(docs: Path) -> Path:
    """Write images.md from results, both in `docs`."""
    target = docs / "images.md"
    target.write_text(page(docs / "results"))
    return target


def _section(name: str, folder: Path, results: Path) -> str:
    (study,) = (study for study in find(name) if study.name == name)
    variant = "" if folder.name == name else f" ({folder.name})"
    settings = json.loads((folder / "settings.json").read_text())
    told = f"{settings['trajectories']:,} trajectories. `levelled reproduce {_command(settings)}`"
    pictures = [
        f"![{study.title}: {picture.stem}](results/{picture.relative_to(results).as_posix()})"
        for picture in sorted(folder.glob("*.png"))
    ]
    return "\n\n".join([f"## {study.title}{variant}", told, *pictures, "\n".join(_claims(folder))])


def _command(settings: dict[str, object]) -> str:
    chosen = [f"--{name} {settings[name]}" for name in ("data", "network") if name in settings]
    return " ".join([str(settings["study"]), *chosen, f"--trajectories {settings['trajectories']}"])


def _claims(folder: Path) -> Iterator[str]:
    for claim in load(folder):
        because = f" {claim.because}" if claim.because else ""
        yield f"- {claim.says} **{claim.verdict}**: {claim.measured}.{because}"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
