"""`levelled look` and `create`: from a file to a campaign."""

from typing import Annotated, Any

import typer

import levelled as lv
from levelled.cli.options import (
    DEFAULT_STORAGE,
    IN_FLIGHT,
    LEASE,
    Budget,
    ClassNames,
    Content,
    Drive,
    Floor,
    Form,
    Format,
    Guarantee,
    Guidelines,
    Hide,
    IdColumn,
    Images,
    JudgeColumns,
    Kind,
    Looks,
    Name,
    Pair,
    PredColumn,
    Questions,
    Reader,
    Show,
    Storage,
    TargetWidth,
    read_guidelines,
    split_content,
)
from levelled.cli.show import chosen, plain, records, tell


def look(
    pool: Annotated[str, typer.Argument(help="File or folder.", show_default=False)],
    classes: ClassNames = None,
    id_column: IdColumn = "id",
    pred_column: PredColumn = None,
    judge_column: JudgeColumns = [],  # noqa: B006
    show: Show = None,
    hide: Hide = None,
    reader: Reader = None,
    form: Format = None,
) -> None:
    """Print what is recognised in a file: items, verdicts, what is shown and what is hidden.

    Nothing is stored. The last line is a command that creates a campaign of this file.
    """
    options = {
        "--classes": classes,
        "--id-column": None if id_column == "id" else id_column,
        "--pred-column": pred_column,
        "--judge-column": judge_column,
        "--show": show,
        "--hide": hide,
        "--reader": reader,
    }
    opened = lv.open_pool(
        pool,
        classes=None if classes is None else classes.split(","),
        **_choices(id_column, pred_column, judge_column, show, hide, reader),
    )
    recognised, command = opened.recognised, opened.recognised.command(pool, _words(options))
    if (form_ := chosen(form, Form.table)) is Form.table:
        for line in (*recognised.lines(), f"next: {command}"):
            typer.echo(plain(line, 5000))
    else:
        records([{**recognised.as_dict(), "command": command}], form_)


def _choices(
    id_column: str,
    pred_column: str | None,
    judge_columns: list[str],
    show: str | None,
    hide: str | None,
    reader: str | None,
) -> dict[str, Any]:
    """The choices of columns as `open_pool` takes them."""
    return {
        "id_column": id_column,
        "pred_column": pred_column,
        "judge_columns": judge_columns,
        "show": None if show is None else show.split(","),
        "hide": () if hide is None else hide.split(","),
        "reader": reader,
    }


def _words(options: dict[str, Any]) -> list[str]:
    """Options as words of a command."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            words += [] if one is None else [name, one]
    return words


def create(
    name: Name,
    pool: Annotated[
        list[str],
        typer.Option(help="File, folder or pattern with the predictions; may be repeated."),
    ],
    metric: Annotated[
        list[str],
        typer.Option(help="Metric to estimate; the first decides which items are drawn."),
    ] = ["error"],  # noqa: B006
    slice_: Annotated[
        list[str],
        typer.Option(
            "--slice",
            envvar="LEVELLED_CREATE_SLICE",
            help="A column to report by; may be repeated.",
        ),
    ] = [],  # noqa: B006
    budget: Budget = None,
    looks: Looks = 5,
    guarantee: Guarantee = "asymptotic",
    target_width: TargetWidth = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the draws; chosen and recorded if not given."),
    ] = None,
    classes: ClassNames = None,
    kind: Kind = "auto",
    drive: Drive = "first",
    features: Annotated[
        list[str],
        typer.Option(help="Columns to learn losses from, or a pattern such as 'f_*'; repeatable."),
    ] = [],  # noqa: B006
    score: Annotated[
        str,
        typer.Option(help="Static: interest of an item: auto, entropy, margin, ... or uniform."),
    ] = "auto",
    proposal: Annotated[
        str, typer.Option(help="Static: proportional, boltzmann:B, power:A, rank:A or uniform.")
    ] = "proportional",
    floor: Floor = 0.5,
    labelled: Annotated[
        str | None,
        typer.Option(help="A file of ids and labels: a random sample to begin with."),
    ] = None,
    model: Annotated[str, typer.Option(help="Name of the model, for tables.")] = "",
    id_column: IdColumn = "id",
    pred_column: PredColumn = None,
    judge_column: JudgeColumns = [],  # noqa: B006
    show: Show = None,
    hide: Hide = None,
    reader: Reader = None,
    question: Questions = [],  # noqa: B006
    guidelines: Guidelines = None,
    pair: Pair = None,
    content: Content = [],  # noqa: B006
    images: Images = None,
    lease_seconds: Annotated[int, LEASE] = 24 * 3600,
    in_flight: Annotated[int, IN_FLIGHT] = 200,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Create a campaign that evaluates a model on a pool without labels."""
    import secrets

    campaign = lv.create_campaign(
        name,
        pool[0] if len(pool) == 1 else pool,
        metric,
        storage=storage,
        seed=secrets.randbits(32) if seed is None else seed,
        budget=budget,
        looks=looks,
        guarantee=guarantee,
        target_width=target_width,
        level=level,
        slices=slice_,
        classes=None if classes is None else classes.split(","),
        score=score,
        proposal=proposal,
        floor=floor,
        kind=kind,
        drive=drive,
        features=features or None,
        lease_seconds=lease_seconds,
        in_flight=in_flight,
        labelled=labelled,
        model=model,
        questions=question,
        guidelines=read_guidelines(guidelines),
        pair=() if pair is None else pair.split(","),
        content=split_content(content),
        images=images,
        **_choices(id_column, pred_column, judge_column, show, hide, reader),
    )
    settings = campaign.settings
    _tell_recognised(campaign)
    if settings.kind == "adaptive":
        _tell_lengths(campaign.pool())
    tell(
        f"created {name}: {settings.pool_size} items, {', '.join(settings.metric_names)}, "
        f"{settings.kind}, seed {settings.seed}. Next: levelled ask {name}"
    )


def _tell_recognised(campaign: "lv.Campaign") -> None:
    """Say what was recognised, where it was not a file with columns by name alone."""
    if campaign.settings.columns != lv.sources.ColumnChoices():
        for line in campaign.pool().recognised.lines():
            tell(line)


def _tell_lengths(pool: "lv.sources.Pool") -> None:
    """Say how to use the lengths of texts where only a smaller pool would use them by itself."""
    from levelled.sources.features import lengths_left_out

    if lengths := lengths_left_out(pool):
        tell(
            f"note: lengths of text are no features of a pool of this size unless they are named, "
            f"as in --features {lengths[0]}"
        )
