"""Run the application, and stop it without cutting anybody off."""

import socket
import sys
from collections.abc import Callable

import uvicorn

from levelled.errors import InputError
from levelled.web.app import make_app
from levelled.web.settings import LOOPBACK, WebSettings

GRACE = 10
"""Seconds that requests in flight have to finish when the server stops."""

SWITCH = 0.0005
"""Seconds after which a thread that computes figures lets one go on that waits to store a label.

With Python's own 5 milliseconds each of the steps of a label can wait that long.
"""


class _Server(uvicorn.Server):
    """A server that ends its streams first when it stops; they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for what is in flight."""
        self._end_streams()
        await super().shutdown(sockets)


def serve(settings: WebSettings, host: str, announce: Callable[[str], None]) -> None:
    """Serve until the process is told to stop; `announce` gets the link once it works."""
    app = make_app(settings)
    if host not in LOOPBACK and not app.state.campaigns.store.tokens.all():
        raise InputError(
            f"Others can reach {host}, and no tokens are set up: levelled token add NAME makes "
            f"one. Without --host only this machine is served."
        )
    listening = _listen(host, settings.port)
    sys.setswitchinterval(SWITCH)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    announce(
        link_to(f"http://{_in_url(host)}:{settings.port}{settings.root_path}/", settings.token)
    )
    _Server(config, app.state.broker.close).run(sockets=[listening])


def link_to(url: str, token: str | None) -> str:
    """The address of a page, with a token that logs its reader in."""
    return url if token is None else f"{url}?token={token}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as wrong:
        listening.close()
        raise InputError(
            f"{host}:{port} cannot be used ({getattr(wrong, 'strerror', None) or wrong}): choose "
            f"another --port or --host."
        ) from wrong
    listening.listen(2048)
    return listening


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
