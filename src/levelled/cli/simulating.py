"""`levelled simulate` and `levelled learn`: evaluation and training where labels are known."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

import levelled as lv
from levelled.campaigns.options import OPTIONS
from levelled.cli import show
from levelled.cli.options import (
    Address,
    BackendName,
    Form,
    Format,
    Workers,
    flag,
    refuse,
    takes,
)

if TYPE_CHECKING:
    from levelled.learning.simulation import LabelledPool, Simulation


@takes(*(OPTIONS[name] for name in ("features", "classes", "id_column")))
def simulate(
    pool: Annotated[str, flag("File, folder or pattern with predictions and labels.")],
    label: Annotated[str, flag("Column of the labels.")] = "label",
    metric: Annotated[
        str, flag("error, accuracy, brier, log_loss:CAP, f1:CLASS, recall:CLASS, mse, ...")
    ] = "error",
    methods: Annotated[
        str,
        flag(
            "all, or some of uniform, static, adaptive, guaranteed (slow, not in all), "
            "active-testing, ppi, with-replacement, with commas between."
        ),
    ] = "all",
    budgets: Annotated[str, flag("Numbers of labels, as 100,500.")] = "100,500",
    repetitions: Annotated[int, flag("Number of repetitions.", min=2)] = 200,
    known: Annotated[
        Path | None,
        flag("File of ids and labels that you have already: adds the method with-known."),
    ] = None,
    seed: Annotated[int, flag("Seed of all random numbers.", min=0)] = 0,
    workers: Workers = 1,
    backend: BackendName = "local",
    address: Address = None,
    out: Annotated[Path | None, flag("A PNG or SVG file for a plot of the factors.")] = None,
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Compare methods on a pool whose labels are known.

    The label factor is the number of random labels that one label of the method is worth. The
    width factor says the same of the interval that is shown. Coverage of static and adaptive
    campaigns is that of five planned looks at once.
    """
    from levelled._optional import optional
    from levelled.backends import named
    from levelled.simulation import (
        METHODS,
        applicable_methods,
        known_losses,
        plot_factors,
        repeat_methods,
    )
    from levelled.simulation.methods import SLOW
    from levelled.simulation.running import (
        check_budgets,
        check_methods,
        factor_table,
        method_with_known,
    )

    if out is not None:
        if out.suffix.lower() not in (".png", ".svg", ".pdf") or not out.parent.is_dir():
            raise lv.errors.InputError(
                f"--out must be a .png, .svg or .pdf file in a folder that exists: {out}."
            )
        optional("matplotlib", extra="plots")
    run = show.with_progress(named(backend, workers=workers, address=address), "simulating")
    losses = known_losses(pool, label, metric, **columns)
    names = check_methods(applicable_methods(losses) if methods == "all" else methods.split(","))
    parts = [part.strip() for part in budgets.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise click.UsageError(f"--budgets must be whole numbers, as 100,500; it is {budgets!r}.")
    sizes = check_budgets([int(part) for part in parts], len(losses))
    show.tell(f"{len(losses):,} items, {losses.metric} {losses.risk:.4g} from all labels")
    left_out = [name for name in METHODS if name not in (*names, *SLOW)]
    if methods == "all" and left_out:
        show.tell(f"note: left out for lack of columns that they need: {', '.join(left_out)}")
    chosen = {name: METHODS[name] for name in names}
    chosen |= method_with_known(known, pool, label, metric, **columns)
    rows = repeat_methods(losses, chosen, sizes, repetitions, seed=seed, backend=run)
    about = f"{losses.metric} of {len(losses):,} items, {repetitions} repetitions"
    show.data(form, rows, lambda: show.show_rows(about, *factor_table(rows)))
    if out is not None:
        plot_factors(rows, about=about).savefig(out, dpi=200)
        show.tell(f"written: {out}")


_TRAINED = {
    "none": "plainly",
    "lure": "with the weights of LURE",
    "pure": "with the weights of PURE",
    "auto": "as far corrected as helps",
}
_ADVICE = "Advice on labels that were drawn"
_TRAINING = (
    *("budget", "score", "proposal", "weights", "compare", "trajectories", "hold_out", "batch"),
    *("start", "floor", "ensemble", "out"),
)
"""Parameters of a simulation, which advice does not use."""
_MUCH = 0.1
"""If more of a pool than this is drawn, the rest differs noticeably from the whole."""
_NAMES = (
    "budget|compare|ensemble|features|floor|hold_out|loss|model|pool|pool_size|proposal|score|"
    "start|test|weights"
)
_PARAMETER = re.compile(rf"\b({_NAMES})=(?:(['\"])(.*?)\2|([\w:]*(?:\.\d+)?))")
"""As messages name the parameters of functions, such as score="entropy" or floor=0.1."""

_MODEL = (
    "logistic, ridge, forest or boosting; or package.module:name of your own model, or of a "
    "function that makes one."
)
ModelName = Annotated[str, flag(_MODEL)]
FeatureNames = Annotated[
    list[str],
    flag(
        "Columns of the features, such as 'f_*'; may be repeated.",
        show_default="embedding, or all numbers",
    ),
]
ScoreName = Annotated[
    str | None,
    flag(
        "Interest of an item: entropy, margin, least_confidence, bald, "
        "variation_ratio, variance, geometric or uniform.",
        show_default="entropy, or geometric for numbers",
    ),
]
_LOSS = "auto, brier, log_loss, zero_one, squared or absolute."
LossName = Annotated[str, flag(_LOSS)]
IdColumn = Annotated[str, flag("Column of the ids.")]
Seed = Annotated[int, flag("Seed of all random numbers.", min=0)]
WeightsOption = StrEnum("WeightsOption", ["auto", "lure", "pure", "none"])
"""The weights of training; auto corrects as far as --advise says."""


def _show_verdict(verdict: "lv.Verdict") -> None:
    """Print the sentence, then tables of the evidence and the rules of thumb."""
    from levelled.reports.numbers import with_error

    click.echo(show.plain(verdict, 1000))
    evidence = [
        (name, f"{value:.3g}" if stderr is None else with_error(value, stderr))
        for name, value, stderr in verdict.evidence()
    ]
    if evidence:
        title = f"{verdict.n_labels} labels, {verdict.loss}"
        show.show_rows(title, ["evidence", "measured"], evidence)
    if verdict.rules:
        rules = [(show.plain(rule.name), show.plain(rule.says, 500)) for rule in verdict.rules]
        show.show_rows("", ["rule of thumb", "result here"], rules, figures=False)
    if evidence:
        click.echo(show.plain(verdict.caveat, 1000))


def learn(
    labels: Annotated[str, flag("File with the columns id and label.")],
    pool: Annotated[
        str | None, flag("File, folder or pattern with ids and features; --advise may do without.")
    ] = None,
    budget: Annotated[int | None, flag("Number of labels to draw.", min=2)] = None,
    model: ModelName = "logistic",
    score: ScoreName = None,
    proposal: Annotated[
        str, flag("boltzmann:B, power:A, rank:A, proportional or epsilon_greedy.")
    ] = "boltzmann",
    weights: Annotated[
        WeightsOption, flag("Weights of training; auto corrects as far as helps, none is plain.")
    ] = WeightsOption.auto,
    compare: Annotated[
        bool, flag("Train plainly, with PURE and LURE weights, and with auto.")
    ] = False,
    trajectories: Annotated[
        int, flag("Number of simulations of --compare, each with new draws.", min=1)
    ] = 1,
    test: Annotated[str | None, flag("File with features and labels to measure risks on.")] = None,
    hold_out: Annotated[
        float | None, flag("Share of the pool to use as a test set.", min=0, max=1)
    ] = None,
    batch: Annotated[int, flag("Labels between two trainings.", min=1)] = 10,
    start: Annotated[int, flag("Labels drawn uniformly at first.", min=0)] = 10,
    floor: Annotated[float, flag("The share of draws made uniformly.")] = 0.3,
    ensemble: Annotated[
        int | None, flag("Copies of the model, for bald, variation_ratio and variance.", min=2)
    ] = None,
    features: FeatureNames = [],  # noqa: B006
    id_column: IdColumn = "id",
    loss: LossName = "auto",
    seed: Seed = 0,
    out: Annotated[Path | None, flag("Folder for the learner, or for the comparison.")] = None,
    form: Format = None,
    advise: Annotated[
        bool,
        flag(
            "Say how far to correct training on --labels, drawn before: it has label and "
            "probability in the order of the draws, as levelled learn and export write it.",
            panel=_ADVICE,
        ),
    ] = False,
    pool_size: Annotated[
        int | None, flag("Number of items drawn from, without --pool.", min=1, panel=_ADVICE)
    ] = None,
    folds: Annotated[int, flag("Number of folds of the cross-fitting.", min=2, panel=_ADVICE)] = 5,
) -> None:
    """Simulate active learning, or advise how far to correct.

    LURE and PURE are the weights of R_LURE and R_PURE, the levelled and the plain unbiased risk
    estimator; auto averages a plain and a corrected model with the share that the labels support.
    Risks are measured on the part of the pool that was not drawn, unless --test or --hold-out says
    otherwise. --advise leaves out draws that are not settled; its --test may lack labels.
    """
    from levelled.learning.files import (
        make_model,
        name_gaps,
        read_drawn_labels,
        read_labelled_pool,
    )

    if advise:
        refuse("does not go with --advise", *_TRAINING)
        with _in_options(model):
            drawn = read_drawn_labels(
                labels, pool=pool, pool_size=pool_size, features=features, id_column=id_column
            )
            for note in drawn.notes:
                show.tell(note)
            with name_gaps(drawn.columns, pool or labels, test):
                verdict = lv.advise(
                    make_model(model, drawn.y.tolist()),
                    drawn.X,
                    drawn.y,
                    drawn.draws,
                    loss=loss,  # type: ignore[arg-type]  # checked there
                    folds=folds,
                    test=None if test is None else drawn.read_test(test),
                    seed=seed,
                )
        show.data(form, [verdict.as_dict()], lambda: _show_verdict(verdict))
        return
    refuse("needs --advise", "pool_size", "folds")
    if pool is None or budget is None:
        raise click.UsageError("Name --pool and --budget, or --advise.")
    from levelled._optional import optional
    from levelled.learning.settings import chosen_score
    from levelled.learning.simulation import Simulation, label_counts

    if compare:
        refuse("does not go with --compare, which trains each way", "weights")
    else:
        refuse("needs --compare", "trajectories")
    if test is not None:
        refuse("does not go with --test", "hold_out")
    with _in_options(model):
        own, labelled = read_labelled_pool(
            pool,
            labels,
            model,
            features=features,
            id_column=id_column,
            loss=loss,
            test=test,
            hold_out=hold_out,
            seed=seed,
        )
        chosen = chosen_score(score or "auto", own)
        params: dict[str, Any] = {"score": chosen, "proposal": proposal, "weights": weights.value}
        params |= {"ensemble": ensemble, "floor": floor, "start": start}
        simulation = Simulation(labelled, own, label_counts(start, batch, budget), params)
        if out is not None:  # before the work begins
            for place in (out, *out.parents):
                if place.is_file():
                    raise lv.errors.InputError(f"--out must be a folder, and {place} is a file.")
            out.mkdir(parents=True, exist_ok=True)
            if compare:
                optional("matplotlib", extra="plots")
        for note in _notes(labelled, budget, start):
            show.tell(note)
        about = f"{budget} of {len(labelled.pool)} items, {model}, {chosen}, {proposal}"
        with name_gaps(labelled.pool.columns, pool, test):
            if compare:
                _compare(simulation, seed, trajectories, about, out, form)
            else:
                _learn(simulation, seed, about, out, form)


def _learn(
    simulation: "Simulation", seed: int, about: str, out: Path | None, form: Form | None
) -> None:
    """Draw all labels, train, and print the risk and the verdict."""
    from levelled.learning.files import write_drawn_labels

    labelled, backend = simulation.pool, show.with_progress(map, "learning")
    learner, verdict, row = simulation.run(seed, backend=backend)
    texts = [
        f"{about}: trained {_TRAINED[row['weights']]}",
        f"{labelled.risk_name}: {row['risk']:.4g} ({row['n_risk']} of them)",
        verdict,
    ]
    show.data(form, [row], lambda: show.lines(texts, 1000))
    if out is not None:  # the labels with their draws and features, for --advise
        path = out / "labelled.parquet"
        write_drawn_labels(path, learner.draws, labelled.labels[learner.draws.index], labelled.pool)
        show.tell(f"written: {path}")
        learner.save(out / "learner")
        show.tell(f"written: {out / 'learner'}")


def _compare(
    simulation: "Simulation", seed: int, n: int, about: str, out: Path | None, form: Form | None
) -> None:
    """Simulate n trajectories, train each way at checkpoints, and print the risks."""
    from levelled.learning.simulation import comparison_table, save_comparison

    rows = simulation.compare(seed, n, backend=show.with_progress(map, "comparing"))
    risk = simulation.pool.risk_name
    show.data(form, rows, lambda: show.show_rows(risk, *comparison_table(rows)))
    if n == 1:
        show.tell("one trajectory may be luck: --trajectories 10 gives standard errors")
    if out is None:
        show.tell("--out FOLDER writes a figure of this, and the numbers")
        return
    times = "1 trajectory" if n == 1 else f"{n} trajectories, ± 1 standard error"
    for path in save_comparison(rows, out, risk=risk, about=f"{about}\n{times}"):
        show.tell(f"written: {path}")


def _notes(labelled: "LabelledPool", budget: int, start: int) -> Iterator[str]:
    """A line on the pool that was read, and notes on the options."""
    N = len(labelled.pool)
    yield str(labelled)
    if start >= budget:
        yield f"note: --start {start} makes all {budget} draws uniform, so that no score is used"
    if labelled.test is None and budget > _MUCH * N:
        yield (
            f"note: {budget / N:.0%} of the pool will be drawn, and the rest will not be like the "
            f"whole; --hold-out 0.3 measures risks on a random part instead"
        )


@contextmanager
def _in_options(model: str) -> Iterator[None]:
    """Report errors and warnings in one line each, with options in place of parameters."""
    from levelled.learning.files import one_line

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # for those who write models
        try:
            yield
        except lv.errors.InputError as refused:
            raise lv.errors.InputError(_name_options(str(refused))) from refused
        except (lv.errors.LevelledError, OSError):
            raise
        except (Exception, SystemExit) as error:
            message = _name_options(f"model={model!r} failed: {one_line(error)}")
            raise lv.errors.InputError(message) from error
    notes = [f"note: {each.category.__name__}: {one_line(each.message)}" for each in caught]
    for note in dict.fromkeys(notes):
        show.tell(note)


def _name_options(message: str) -> str:
    """A message about parameters, with the options of the same names.

    >>> _name_options('It has none. Give ensemble=10, or ensemble=[...] for a committee.')
    'It has none. Give --ensemble 10.'
    """
    message = re.sub(r",? or ensemble=\[\.\.\.\][^.,]*", "", message)
    return _PARAMETER.sub(
        lambda match: f"--{match[1].replace('_', '-')} {match[3] or match[4] or ''}".rstrip(),
        message,
    )
