"""`levelled look` and `create`: from a file to a campaign."""

import secrets
from typing import Annotated, Any

import typer

import levelled as lv
from levelled.campaigns.options import DEFAULT_STORAGE, GROUPS, OPTIONS
from levelled.cli.options import Form, Format, Name, Storage, takes
from levelled.cli.show import chosen, plain, records, tell

_OF_COLUMNS = ("classes", "id_column", "pred_column", "judge_columns", "show", "hide", "reader")


@takes(*(OPTIONS[name] for name in _OF_COLUMNS))
def look(
    pool: Annotated[str, typer.Argument(help="File or folder.", show_default=False)],
    form: Format = None,
    **columns: Any,  # noqa: ANN401
) -> None:
    """Print what is recognised in a file: items, verdicts, what is shown and what is hidden.

    Nothing is stored. The last line is a command that creates a campaign of this file.
    """
    recognised = lv.open_pool(pool, **columns).recognised
    words = []
    for option in (OPTIONS[name] for name in _OF_COLUMNS):
        flag, value = f"--{option.flag or option.name.replace('_', '-')}", columns[option.name]
        if option.repeated:
            words += [word for one in value for word in (flag, one)]
        elif value != option.default:
            words += [flag, ",".join(value) if option.kind is list else value]
    command = recognised.command(pool, words)
    if (form_ := chosen(form, Form.table)) is Form.table:
        for line in (*recognised.lines(), f"next: {command}"):
            typer.echo(plain(line, 5000))
    else:
        records([{**recognised.as_dict(), "command": command}], form_)


@takes(*sorted(OPTIONS.values(), key=lambda one: GROUPS.index(one.group)))
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
    storage: Storage = DEFAULT_STORAGE,
    **options: Any,  # noqa: ANN401
) -> None:
    """Create a campaign that evaluates a model on a pool without labels."""
    if options["seed"] is None:
        options["seed"] = secrets.randbits(32)
    several = pool if len(pool) > 1 else pool[0]
    campaign = lv.create_campaign(name, several, metric, storage=storage, **options)
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
