"""`levelled advise`: is it worth training on these labels with corrective weights?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelled.cli.options import Form, Format

if TYPE_CHECKING:
    from levelled.advice import Verdict
    from levelled.cli.drawn import DrawnLabels

__all__ = ["FeatureNames", "IdColumn", "LossName", "ModelName", "advise"]

ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        help="logistic, ridge, forest or boosting; or package.module:name, one of your own or a "
        "function that makes one.",
    ),
]
FeatureNames = Annotated[
    list[str],
    typer.Option(
        "--features",
        help="Columns to learn from, such as 'f_*'; may be repeated.",
        show_default="embedding, or all numbers",
    ),
]
LossName = Annotated[
    str, typer.Option("--loss", help="auto, brier, log_loss, zero_one, squared or absolute.")
]
IdColumn = Annotated[str, typer.Option("--id-column", help="The column of ids.")]


def advise(
    labels: Annotated[
        str, typer.Option(help="File with label and probability, in the order of the draws.")
    ],
    model: ModelName = "logistic",
    pool: Annotated[
        str | None,
        typer.Option(help="The file of the pool: its size, and the features by id."),
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="How many items there were to draw from.")
    ] = None,
    features: FeatureNames = [],  # noqa: B006
    id_column: IdColumn = "id",
    loss: LossName = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Parts that are held out in turn.")] = 10,
    test: Annotated[
        str | None,
        typer.Option(help="File with features, and labels if there are any, of where it is used."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Where the randomness starts.")] = 0,
    form: Format = None,
) -> None:
    """Say whether training with corrective weights is worth it here, and why.

    The labels may be those of levelled learn or levelled export; draws that are not settled are
    left out.
    """
    from levelled import advice
    from levelled.cli import show
    from levelled.cli.drawn import read_drawn
    from levelled.cli.models import gaps_named, in_words, model_of

    drawn = read_drawn(labels, pool, pool_size, features, id_column)
    for told in drawn.notes:
        show.tell(told)
    with in_words(f"--model {model}"), gaps_named(drawn.columns, pool or labels, test):
        verdict = advice.advise(
            model_of(model, drawn.y.tolist()),
            drawn.X,
            drawn.y,
            drawn.draws,
            loss=loss,  # type: ignore[arg-type]  # checked there
            folds=folds,
            test=None if test is None else _test(test, drawn),
            seed=seed,
        )
    chosen = show.chosen(form)
    if chosen is Form.table:
        _show(verdict)
    else:
        show.records([verdict.as_dict()], chosen)


def _test(path: str, drawn: "DrawnLabels") -> Any:  # noqa: ANN401
    """The features of a file, with its labels where it has any."""
    from levelled.cli.labels import read_test
    from levelled.sources.features import read_numbers
    from levelled.sources.files import files_of
    from levelled.sources.origin import Files

    if {"label", "answer"} & {*Files(files_of(path)).schema.names}:
        return read_test(path, drawn.columns, drawn.y.tolist())
    return read_numbers(path, drawn.columns)


def _show(verdict: "Verdict") -> None:
    """The sentence, then the evidence for those who want to argue with it."""
    from levelled.cli import show

    typer.echo(show.plain(verdict, 1000))
    evidence = [*_evidence(verdict)]
    if evidence:
        title = f"{verdict.n_labels} labels, {verdict.loss}"
        show.show_rows(title, ["evidence", "measured"], evidence)
    if verdict.rules:
        rules = [(show.plain(rule.name), show.plain(rule.says, 500)) for rule in verdict.rules]
        show.show_rows("", ["rule of thumb", "what it says here"], rules, figures=False)
    if evidence:
        typer.echo(show.plain(verdict.caveat, 1000))


def _evidence(verdict: "Verdict") -> Iterator[tuple[str, str]]:
    """What was measured, with its standard error where that is known."""
    from levelled.learning.playing import TITLES
    from levelled.reports.numbers import with_error

    risks = {f"held-out risk, {TITLES[way]}": risk for way, risk in verdict.risks.items()}
    found: dict[str, tuple[float | None, float | None]] = {
        "active learning bias": (
            verdict.active_learning_bias,
            verdict.active_learning_bias_stderr,
        ),
        "overfitting bias": (verdict.overfitting_bias, verdict.overfitting_bias_stderr),
        **risks,
        "naive less LURE, item by item": verdict.difference or (None, None),
        "naive less LURE, on the labels themselves": (verdict.gain_on_labels, None),
        "cost of uneven weights": (verdict.cost, None),
        "effective labels (Kish)": (verdict.n_effective, None),
    }
    for name, (value, stderr) in found.items():
        if value is not None:
            yield name, f"{value:.3g}" if stderr is None else with_error(value, stderr)
