"""`levelled learn`: play active learning through on a pool whose labels are known."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.cli.advising import FeatureNames, IdColumn, LossName, ModelName
from levelled.cli.options import Form, Format

if TYPE_CHECKING:
    from levelled.advice import Verdict
    from levelled.backends import Backend
    from levelled.cli.inputs import Inputs
    from levelled.learning import ActiveLearner
    from levelled.learning.playing import LabelledPool
    from levelled.models import Loss, Model

__all__ = ["learn"]

_LOSSES = {
    "brier": "Brier score",
    "log_loss": "log loss",
    "zero_one": "error",
    "squared": "squared error",
    "absolute": "absolute error",
}
_WEIGHTS = {"none": "no weights", "lure": "the weights of LURE", "pure": "the weights of PURE"}


class Weights(StrEnum):
    """How training is corrected for the choice of labels."""

    auto = "auto"
    lure = "lure"
    pure = "pure"
    none = "none"


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be played through, and where the results go."""

    known: "LabelledPool"
    learner_of: "Callable[[int], ActiveLearner]"
    """A seed -> a learner that has drawn nothing yet."""
    seed: int
    counts: Sequence[int]
    about: str
    out: Path | None
    form: Form

    @property
    def risk(self) -> str:
        """What is measured, on what."""
        loss = self.known.task.loss
        return f"{_LOSSES[loss]} on {self.judged_by}"

    @property
    def judged_by(self) -> str:
        return "items not drawn" if self.known.y_test is None else "test items"


def learn(
    pool: Annotated[str, typer.Option(help="File, folder or pattern with ids and features.")],
    labels: Annotated[str, typer.Option(help="File with the columns id and label.")],
    budget: Annotated[int, typer.Option(min=2, help="How many labels to draw.")],
    model: ModelName = "logistic",
    score: Annotated[
        str | None,
        typer.Option(
            help="Which items are of interest: entropy, margin, least_confidence, bald, "
            "variation_ratio, variance, geometric or uniform.",
            show_default="entropy, or geometric where numbers are predicted",
        ),
    ] = None,
    proposal: Annotated[
        str, typer.Option(help="boltzmann:B, power:A, rank:A, proportional or epsilon_greedy.")
    ] = "boltzmann",
    weights: Annotated[
        Weights, typer.Option(help="The weights of training; auto corrects where advised to.")
    ] = Weights.auto,
    compare: Annotated[
        bool, typer.Option("--compare", help="Train without weights, with PURE and with LURE.")
    ] = False,
    trajectories: Annotated[
        int, typer.Option(min=1, help="How often --compare plays it through, with other draws.")
    ] = 1,
    test: Annotated[
        str | None, typer.Option(help="File with features and labels to measure risks on.")
    ] = None,
    hold_out: Annotated[
        float | None, typer.Option(help="The share of the pool to set aside as a test set.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Labels between two trainings.")] = 10,
    start: Annotated[int, typer.Option(min=0, help="Labels drawn uniformly at first.")] = 10,
    floor: Annotated[float, typer.Option(help="The share of draws made uniformly.")] = 0.1,
    ensemble: Annotated[
        int | None,
        typer.Option(min=2, help="Copies of the model, for scores that need several opinions."),
    ] = None,
    features: FeatureNames = [],  # noqa: B006
    id_column: IdColumn = "id",
    loss: LossName = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Where the randomness starts.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="A folder for what was learned, or for the comparison.")
    ] = None,
    form: Format = None,
) -> None:
    """Play active learning through where all labels are known, to see what correcting does.

    Risks are on the part of the pool that was not drawn, unless --test or --hold-out says
    otherwise.
    """
    from levelled.cli import show
    from levelled.cli.inputs import Inputs, check_possible, described, read_known
    from levelled.cli.models import gaps_named, in_words
    from levelled.learning.playing import label_counts

    if trajectories > 1 and not compare:
        raise typer.BadParameter("goes with --compare.", param_hint="--trajectories")
    if compare and weights is not Weights.auto:
        raise typer.BadParameter(
            "does not go with --compare, which trains each way.", param_hint="--weights"
        )
    if test is not None and hold_out is not None:
        raise typer.BadParameter("does not go with --test.", param_hint="--hold-out")
    given = Inputs(pool, labels, model, tuple(features), id_column, loss, test, hold_out, seed)
    params = {
        "score": score or "auto",
        "proposal": proposal,
        "weights": weights.value,
        "ensemble": ensemble,
        "floor": floor,
        "start": start,
    }
    with in_words(f"--model {model}"):
        made, known = read_known(given)
        check_possible(known, made, budget, _correcting(weights, compare))
        _prepare(out, compare)
        counts = label_counts(start, batch, budget)
        job = _job(given, made, known, params, counts, out, show.chosen(form))
        for told in described(known, budget, start):
            show.tell(told)
        with gaps_named(known.pool.columns, pool, test):
            if compare:
                _compare(job, trajectories)
            else:
                _learn(job, loss)  # type: ignore[arg-type]  # checked where the pool was read


def _job(
    given: "Inputs",
    model: "Model",
    known: "LabelledPool",
    params: dict[str, Any],
    counts: Sequence[int],
    out: Path | None,
    form: Form,
) -> _Job:
    """The job for these parameters of a learner; refuses those that it cannot be made with."""
    from levelled.learning import ActiveLearner
    from levelled.learning.scoring import chosen_score

    score = chosen_score(params["score"], model)
    about = f"{counts[-1]} of {len(known.pool)} items, {given.model}, {score}, {params['proposal']}"

    def learner_of(seed: int) -> ActiveLearner:
        return ActiveLearner(model, known.pool.X, **params | {"score": score}, seed=seed)

    learner_of(given.seed)
    return _Job(known, learner_of, given.seed, counts, about, out, form)


def _learn(job: _Job, loss: "Loss") -> None:
    """Draw all labels, train as advised, and say how good the model is."""
    from levelled.cli import show
    from levelled.learning.playing import teach

    known, learner = job.known, job.learner_of(job.seed)

    def trained() -> "Verdict":
        learner.fit(loss=loss)
        return learner.verdict_ or learner.advise(loss=loss)

    steps = [*(partial(teach, learner, known, n) for n in job.counts), trained]
    *_, verdict = _progress("learning")(lambda step: step(), steps)
    found: dict[str, Any] = {
        "labels": len(learner),
        "pool_size": len(known.pool),
        "weights": learner.weights_,
        "loss": known.task.loss,
        "risk": known.risk(learner.model_, learner.draws.index),
        "risk_of": job.judged_by,
        "n_risk": len(known.judged_by(learner.draws.index)[1]),
        "verdict": verdict.as_dict(),
    }
    if job.form is Form.table:
        typer.echo(f"{job.about}: trained with {_WEIGHTS[found['weights']]}")
        typer.echo(f"{job.risk}: {found['risk']:.4g} ({found['n_risk']} of them)")
        typer.echo(show.plain(verdict, 1000))
    else:
        show.records([found], job.form)
    if job.out is not None:
        _save(job.out, learner, known)


def _compare(job: _Job, n: int) -> None:
    """Play n trajectories through, train each way at checkpoints, and show the risks."""
    from levelled.cli import show
    from levelled.cli.comparing import cells, save
    from levelled.learning.playing import compared, seeds, summary

    steps = compared(map(job.learner_of, seeds(job.seed, n)), job.known, job.counts)
    backend = _progress("comparing")
    rows = summary(backend(lambda _: next(steps), range(n * len(job.counts))), n)
    if job.form is Form.table:
        show.show_rows(job.risk, *cells(rows))
    else:
        show.records(rows, job.form)
    if n == 1:
        show.tell("one trajectory may be luck: --trajectories 10 gives standard errors")
    if job.out is None:
        show.tell("--out FOLDER writes a figure of this, and the numbers")
    else:
        times = "1 trajectory" if n == 1 else f"{n} trajectories, ± 1 standard error"
        for path in save(rows, job.out, risk=job.risk, about=f"{job.about}\n{times}"):
            show.tell(f"written: {path}")


def _correcting(weights: Weights, compare: bool) -> str | None:
    """The option that asks for corrective weights, if there is one."""
    if compare:
        return "--compare"
    return f"--weights {weights}" if weights in (Weights.lure, Weights.pure) else None


def _prepare(out: Path | None, compare: bool) -> None:
    """Have the folder, and what draws in it, before the work begins."""
    from levelled._optional import optional
    from levelled.errors import InputError

    if out is not None:
        for place in (out, *out.parents):
            if place.is_file():
                raise InputError(f"--out must be a folder, and {place} is a file.")
        out.mkdir(parents=True, exist_ok=True)
        if compare:
            optional("matplotlib", extra="plots")


def _progress(title: str) -> "Backend":
    from levelled.cli.show import with_progress

    return with_progress(map, title) if sys.stderr.isatty() else map


def _save(out: Path, learner: "ActiveLearner", known: "LabelledPool") -> None:
    """The labels with their draws and features, for `levelled advise`; and the learner."""
    from levelled.cli.drawn import write_drawn
    from levelled.cli.show import tell

    path = out / "labelled.parquet"
    write_drawn(path, learner.draws, known.labels[learner.draws.index], known.pool)
    tell(f"written: {path}")
    learner.save(out / "learner")
    tell(f"written: {out / 'learner'}")
