"""The page of the image experiments, its panels and its captions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from levelled_studies import find
from levelled_studies.images import bias, overfitting, proposals, temperature, training
from levelled_studies.images import throughout as lure_throughout
from levelled_studies.images.layout import FIGURES
from levelled_studies.images.loop import OWN_BIAS, Way
from levelled_studies.images.page import page
from levelled_studies.images.settings import CPU, PAPER, BiasSettings
from levelled_studies.images.table1 import DROPOUT, KL, WEIGHT_DECAY, settings_table
from levelled_studies.images.training import TrainingSettings
from levelled_studies.runner import run
from levelled_studies.study import Claim, Plot, Study, StudySettings
from levelled_studies.tables import summarise

START, BUDGET = 2, 4
SMALL = replace(CPU, trajectories=2, start=START, budget=BUDGET, every=2)
TRAINED = TrainingSettings(trajectories=2, start=START, budget=BUDGET, every=2)


def claimed(*where: str) -> list[Claim]:
    return [Claim(f"claim-{at}", at, f"Said of {at}.", "1 ± 0", "holds") for at in where]


def finish(folder: Path, claims: Sequence[Claim], pictures: Sequence[str] = ("nll",)) -> None:
    """Leave what a study leaves in its folder."""
    folder.mkdir(parents=True)
    for name in pictures:
        (folder / f"{name}.png").touch()
    (folder / "settings.json").write_text(json.dumps({"study": "some", "trajectories": 3}))
    (folder / "claims.json").write_text(json.dumps([asdict(claim) for claim in claims]))


def section(of: str, title: str) -> str:
    """The part of a page under a heading that begins so."""
    (found,) = (part for part in of.split("\n## ")[1:] if part.startswith(title))
    return found


def test_without_results_there_is_a_page_without_figures(tmp_path: Path) -> None:
    assert "\n## Figure" not in page(tmp_path)


def test_panels_stand_in_the_rows_of_the_paper_and_leave_gaps(tmp_path: Path) -> None:
    mnist, balanced = (tmp_path / "image-training" / way for way in ("mnist-cnn", "mnist-dropout"))
    finish(mnist, claimed("Figure 3b"), ["nll", "accuracy"])
    finish(balanced, claimed("Figure 3e"))
    rows = section(page(tmp_path), "Figure 3").split("\n\n")[1].splitlines()
    assert rows == [
        "|  | ![(b) MNIST: test NLL](../results/image-training/mnist-cnn/nll.png) | "
        "![(c) MNIST: test accuracy](../results/image-training/mnist-cnn/accuracy.png) |",
        "| :---: | :---: | :---: |",
        "|  | (b) MNIST: test NLL | (c) MNIST: test accuracy |",
        "|  | ![(e) MNIST (MC dropout): test NLL](../results/image-training/mnist-dropout/nll.png)"
        " |  |",
        "|  | (e) MNIST (MC dropout): test NLL |  |",
    ]


def test_panels_of_unfinished_studies_are_named(tmp_path: Path) -> None:
    for panel in (panel for figure in FIGURES for panel in figure):
        if "mnist-cnn-28" not in panel.file:
            (tmp_path / panel.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / panel.file).touch()
    finish(tmp_path / "image-training/other", claimed("Figure 3"))
    assert "not finished" not in page(tmp_path)  # no study has
    (tmp_path / "image-bias/claims.json").write_text("[]")
    (tmp_path / "image-bias/settings.json").write_text('{"study": "image-bias"}')
    (missing,) = (line for line in page(tmp_path).splitlines() if "not finished" in line)
    assert missing.count("MNIST at 28 pixels") == 2


def test_figures_come_in_the_order_of_the_paper(tmp_path: Path) -> None:
    for folder in {panel.folder for figure in FIGURES for panel in figure}:
        finish(tmp_path / folder, claimed("appendix C.2"))
    lines = page(tmp_path).splitlines()
    headings = [line for line in lines if line.startswith(("## Figure", "## Told"))]
    numbers = [heading.removeprefix("## Figure ").partition(":")[0] for heading in headings]
    assert numbers == ["2", "3", "4", "5", "7", "8", "9", "10", "## Told in words"]


def test_a_claim_stands_under_the_figures_it_names_with_their_letters(tmp_path: Path) -> None:
    finish(tmp_path / "image-training/mnist-cnn", claimed("section 6, Figures 3b, 3c and 8"))
    finish(tmp_path / "image-bias", claimed("section 6, Figures 2b and 5b", "section 6"))
    written = page(tmp_path)
    assert "| (b), (c) | Said of section 6, Figures 3b" in section(written, "Figure 3")
    assert "|  | Said of section 6, Figures 3b" in section(written, "Figure 8")
    assert "| (b) | Said of section 6, Figures 2b" in section(written, "Figure 2")
    assert "| (b) | Said of section 6, Figures 2b" in section(written, "Figure 5")
    assert "| (b), (c) | Said of section 6." in section(written, "Figure 2")
    assert "Said of section 6." not in section(written, "Figure 5")


def test_what_captions_share_is_said_once_with_the_letters_of_all(tmp_path: Path) -> None:
    for way, n in (("mnist-cnn", 8), ("mnist-dropout", 3)):
        folder = tmp_path / "image-training" / way
        finish(folder, claimed("Figure 3"))
        (folder / "caption.txt").write_text(f"{n} trajectories.\nAll else is the same.\n")
    written = section(page(tmp_path), "Figure 3").splitlines()
    assert "- (b), (c): 8 trajectories." in written
    assert "- (e): 3 trajectories." in written
    assert "- (b), (c), (e): All else is the same." in written


@pytest.mark.parametrize(
    ("caption", "ran"),
    [
        (lambda: training.caption(replace(TRAINED, size=16)), "the paper: 45"),
        (lambda: overfitting.caption(SMALL), "the paper: 150"),
        (lambda: temperature.caption(SMALL), "45 for Figures 3b and 3c"),
        (lambda: lure_throughout.caption(SMALL), "45 for Figures 3b and 3c"),
        (lambda: proposals.caption(SMALL), "in words"),
        (lambda: bias.caption(BiasSettings(size=16)), "no number for images"),
    ],
)
def test_a_caption_tells_how_much_was_run_and_how_large_the_network_is(
    caption: Callable[[], str], ran: str
) -> None:
    pytest.importorskip("torch")
    first, _ = caption().splitlines()
    assert ran in first
    assert "seed 0; 16 x 16 pixels, 18,762 weights" in first
    assert "(the paper: 28 x 28 pixels, 80,202 weights" in first


def test_a_caption_tells_the_weights_of_the_small_network() -> None:
    pytest.importorskip("torch")
    caption = training.caption(replace(TRAINED, network="mlp", size=16))
    assert "13,360 weights of the MLP" in caption
    assert "28 x 28 pixels, 80,202 weights." in training.caption(TrainingSettings(**asdict(PAPER)))


def test_what_differs_from_table_1_is_a_table_with_a_column_for_each_size(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for folder, settings in {
        "image-bias": BiasSettings(steps=1000),
        "image-training/mnist-cnn": replace(TRAINED, size=16),
        "image-training/mnist-mlp": replace(TRAINED, size=16, network="mlp"),
        "image-temperature": replace(SMALL, steps=7),
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "settings.json").write_text(json.dumps(asdict(settings)))
    head, _, *rows = (
        line.strip("| ").split(" | ") for line in settings_table(tmp_path).split("\n")
    )
    assert head == [
        "Table 1",
        "Figures 2, 5 (28 pixels)",
        "Figures 3, 8, 10 (16 pixels)",
        "Figure 9 (16 pixels)",
    ]
    by_name = {name: values for name, *values in rows}
    assert by_name["pixels a side"] == ["28", "28", "16", "16"]
    assert by_name["weights of the CNN"] == ["80,202", "80,202", "18,762", "18,762"]
    epochs = "1,600 (100 epochs of 16 steps)"
    assert by_name["training steps at most"] == [epochs, "1,000", epochs, "7"]
    assert "batch" not in by_name


def test_captions_tell_what_the_networks_do() -> None:
    pytest.importorskip("torch")
    from levelled_studies.bayes import DropoutClassifier, RadialClassifier

    radial, dropout = RadialClassifier(), DropoutClassifier()
    assert (radial.kl_scale, radial.weight_decay) == (KL, WEIGHT_DECAY)
    assert (dropout.rate, dropout.weight_decay) == (DROPOUT, WEIGHT_DECAY)
    assert not dropout.consistent


def rows(task: str) -> list[dict[str, object]]:
    """A trajectory of a few draws, tested at the second and at the last."""
    tested = {
        f"{name} {what}": 0.5
        for name in ("naive", "PURE", "LURE")
        for what in ("nll", "accuracy", "trained")
    }
    draw = {"probability": 0.1, "evenness": 0.5, "spread": 1.0, "pool_size": 10}
    loss = {"fixed_loss": 1.0, "fixed_risk": 0.5}
    if Way.of(task).acquire == "own":
        return [{"task": task, "labels": m, OWN_BIAS: -0.5} for m in (2, 4)]
    return [
        {"task": task, "labels": m}
        | draw
        | loss
        | (tested if m % 2 == 0 else dict.fromkeys(tested))
        for m in range(1, BUDGET + 1)
    ]


def estimates() -> pa.Table:
    """Errors of a fixed network's estimates, of which a single one of R_LURE is huge."""
    rng = np.random.default_rng(0)
    series = {name: rng.normal(-1, 0.1, (20, 3)) for name in ("naive", "PURE", "LURE")}
    series["LURE"][0, 1] = 1000
    table = summarise(series, [10, 20, 30])
    parts = [
        table.append_column("data", [[data] * len(table)]).append_column(
            "proposal", [[proposal] * len(table)]
        )
        for data in bias.DATA
        for proposal in bias.PROPOSALS
    ]
    return pa.concat_tables(parts)


def drawn(study: str, settings: StudySettings, *, folder: str = "") -> set[str]:
    (found,) = find(study)
    parts = [pa.Table.from_pylist(rows(task)) for task in found.tasks(settings)]
    table = pa.concat_tables(parts, promote_options="default")
    return {f"{folder or study}/{name}.png" for name in found.figures(table, settings)}


def test_every_panel_of_the_page_is_drawn_by_its_study() -> None:
    pytest.importorskip("matplotlib")
    made = {f"image-bias/{name}.png" for name in bias.figures(estimates(), BiasSettings())}
    for study in ("lure-throughout", "overfitting", "temperature", "proposals"):
        made |= drawn(f"image-{study}", SMALL)
    for data, network in training.FIGURES:
        settings = replace(TRAINED, data=data, network=network)
        made |= drawn("image-training", settings, folder=f"image-training/{data}-{network}")
    made |= drawn("image-training", TRAINED, folder="image-training/mnist-cnn-28")
    wanted = {panel.file for figure in FIGURES for panel in figure}
    assert {file for file in wanted if file.startswith("image-")} <= made


def test_one_heavy_draw_does_not_hide_the_other_curves() -> None:
    pytest.importorskip("matplotlib")
    figure = bias.figures(estimates(), BiasSettings())["figure-2b"]
    low, high = figure.axes[0].get_ylim()
    assert -1.5 < low < -1 < high < 1.5


def test_the_runner_writes_the_caption_and_the_same_pictures_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = Study(
        name="caption",
        title="A line",
        presets={},
        tasks=lambda settings: ["all"],
        run=lambda settings, task, rng: pa.table({"x": [0, 1]}),
        figures=_line,
        claims=lambda table, settings: [],
        caption=lambda settings: f"Seed {settings.seed}.",
    )
    one, two = (run(study, StudySettings(), tmp_path / name) for name in ("one", "two"))
    assert (tmp_path / "one/caption.txt").read_text() == "Seed 0.\n"
    assert len(one.files) == len(two.files) == 6
    for path, other in zip(one.files, two.files, strict=True):
        assert path.read_bytes() == other.read_bytes()


def _line(table: pa.Table, settings: StudySettings) -> dict[str, Plot]:
    from levelled.reports.plots import band, canvas

    figure, axes = canvas()
    x = np.array([0.0, 1.0])
    band(axes, x, x, x - 1, x + 1, "#000000", "line", edged=True)
    return {"line": figure}
