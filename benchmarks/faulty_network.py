"""A relay between clients and a server on 127.0.0.1, which can stop, cut and swallow."""

import asyncio
import multiprocessing
import signal
import socket
import struct
from contextlib import suppress

__all__ = ["CUT", "PASS", "STALL", "SWALLOW", "Relay"]

PASS, STALL, CUT, SWALLOW = range(4)
"""All goes through; nothing does, and nobody is told; connections are reset; a commit is relayed,
but the connection is reset instead of the reply."""

_RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: a reset instead of an orderly end


class Relay:
    """A process that relays connections to the port `to`, as `mode` says.

    `commit` is a text in a server's reply that acknowledges a commit.
    """

    def __init__(self, to: int, commit: bytes) -> None:
        self._to, self._commit = to, commit
        fork = multiprocessing.get_context("fork")
        self._mode = fork.Value("i", PASS)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._process = fork.Process(target=self._run, daemon=True)
        self._process.start()

    def set(self, mode: int) -> None:
        self._mode.value = mode

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._listening.close()

    def _run(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        async with await asyncio.start_server(self._accept, sock=self._listening) as server:
            await server.serve_forever()

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            far, there = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            _reset(back)
            return
        ways = [
            asyncio.create_task(self._relay(near, there, replies=False)),
            asyncio.create_task(self._relay(far, back, replies=True)),
            asyncio.create_task(self._watch()),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        _reset(back)
        _reset(there)

    async def _relay(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        """Relay one direction until it ends or is to be cut."""
        with suppress(OSError):
            while data := await source.read(65536):
                while self._mode.value == STALL:
                    await asyncio.sleep(0.01)
                if self._mode.value == CUT:  # not only once `_watch` has noticed
                    return
                if self._mode.value == SWALLOW and replies and self._commit in data:
                    return
                to.write(data)
                await to.drain()

    async def _watch(self) -> None:
        """Return when the connection is to be cut."""
        while self._mode.value != CUT:
            await asyncio.sleep(0.01)


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.close()
