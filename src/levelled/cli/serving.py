"""`levelled serve` and `levelled token`: the web page, and who may use it."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import levelled as lv
from levelled._optional import optional
from levelled.cli import show
from levelled.cli.options import DEFAULT_STORAGE, Form, Format, Owner, Storage

PORT = 8765

token_app = typer.Typer(help="Links for labellers and analysts.", no_args_is_help=True)


class Role(StrEnum):
    """What a token allows."""

    labeller = "labeller"
    analyst = "analyst"


def serve(
    file: Annotated[
        Path | None,
        typer.Argument(help="A file to create a campaign from.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine need tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = PORT,
    root_path: Annotated[
        str, typer.Option(help="Path that a proxy puts in front, such as /levelled.")
    ] = "",
    allow_host: Annotated[
        list[str],
        typer.Option(help="A further name of the server, behind a proxy; may be repeated."),
    ] = [],  # noqa: B006
    uploads: Annotated[
        Path | None,
        typer.Option(help="Folder of files to create campaigns from, and for uploads."),
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Folder of the items' images.")] = None,
    owner: Owner = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Label in the browser, and watch the figures: prints a link and serves it until Ctrl-C."""
    more = {"root_path": root_path, "file": file, "uploads": uploads, "images": images}
    serve_local(storage, port, host=host, owner=owner, names=allow_host, **more)


def serve_local(
    storage: str,
    port: int,
    *,
    host: str = "127.0.0.1",
    owner: str | None = None,
    names: Sequence[str] = (),
    **more: Any,  # noqa: ANN401
) -> None:
    """Print a link to the campaigns of a storage, and serve it; `more` are further settings.

    The link has a token only where nobody but this machine is served.
    """
    import getpass

    for module in ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3"):
        optional(module, extra="web")
    from levelled import web

    is_local = host in web.LOOPBACK
    settings = web.WebSettings(
        storage,
        owner=owner or getpass.getuser(),
        token=web.link_token(storage) if is_local else None,
        port=port,
        hosts=(*web.LOOPBACK, *names) if is_local else tuple(names),
        **more,
    )
    web.serve(settings, host, typer.echo)


@token_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the person.", show_default=False)],
    role: Annotated[Role, typer.Option(help="What the person may do.")] = Role.labeller,
    url: Annotated[
        str, typer.Option(help="Address at which the server is reached, for the link.")
    ] = f"http://127.0.0.1:{PORT}/",
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Print a link for a person; it is shown only once."""
    optional("fastapi", extra="web")
    from levelled.web import link_to

    with lv.campaigns.open_store(storage) as store:
        token = store.tokens.add(name, role.value)
    typer.echo(link_to(f"{url.rstrip('/')}/", token))


@token_app.command(name="list")
def list_(form: Format = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """List who has a token; the tokens themselves are not kept."""
    with lv.campaigns.open_store(storage, create=False) as store:
        tokens = store.tokens.all()
    rows: list[dict[str, Any]] = [
        {"name": one.name, "role": one.role, "created": one.created} for one in tokens
    ]
    chosen = show.chosen(form)
    if chosen is Form.table:
        cells = [[show.plain(value) for value in row.values()] for row in rows]
        show.show_rows("Tokens", ["name", "role", "created"], cells, figures=False)
    else:
        show.records(rows, chosen)


@token_app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the person.", show_default=False)],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Remove all tokens of a person; pages that are open stop working within a second."""
    with lv.campaigns.open_store(storage, create=False) as store:
        count = store.tokens.remove(name)
    if not count:
        raise lv.errors.InputError(f"{name!r} has no token: levelled token list shows all.")
    show.tell(f"removed {count} {'token' if count == 1 else 'tokens'} of {name}")
