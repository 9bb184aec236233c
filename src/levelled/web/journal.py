"""The log of the server: one JSON object a line, without labels, tokens or items in it."""

import json
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import IO, Any

from starlette.types import Scope


class Journal:
    """Writes what happened to a stream, by default standard error."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:  # noqa: ANN401
        """Write one line."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "event": event, **fields})
        with self._lock:
            stream = sys.stderr if self._stream is None else self._stream
            stream.write(f"{line}\n")
            stream.flush()

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        """Write a request: its route without values in it, who sent it, and the outcome."""
        route, visitor = scope.get("route"), scope.get("state", {}).get("visitor")
        self.write(
            "request",
            method=scope["method"],
            route=getattr(route, "path", None),
            campaign=scope.get("path_params", {}).get("name"),
            by=getattr(visitor, "name", None),
            status=status,
            ms=round(1000 * seconds, 1),
        )

    def failure(self, scope: Scope, error: BaseException) -> None:
        """Write where an unexpected error was raised, without its message, which may quote data."""
        frames = traceback.extract_tb(error.__traceback__)[-8:]
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        self.write(
            "error",
            route=getattr(scope.get("route"), "path", None),
            kind=type(error).__name__,
            where=where,
        )
