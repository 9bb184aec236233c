"""Replies: JSON for any text, and errors as one line."""

import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request

from levelled.errors import (
    CampaignError,
    ConflictError,
    LevelledError,
    MissingExtraError,
    StorageError,
)

__all__ = ["Problem", "Reply", "problem", "refuse_http", "refuse_input", "refuse_step"]

_STATUS = (
    (ConflictError, 409),
    (StorageError, 503),
    (MissingExtraError, 501),
    (CampaignError, 409),
    (LevelledError, 422),
)
"""The status of each kind of error; the first that fits counts."""


class Problem(BaseModel):
    """An error: what happened, and what to do."""

    error: str


class Reply(JSONResponse):
    """JSON in ASCII, which holds any text: also half a surrogate pair from a pool."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401
        """The bytes of the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def problem(status: int, why: str, headers: dict[str, str] | None = None) -> Reply:
    """The reply to a request that is refused."""
    return Reply({"error": " ".join(why.split())[:2000]}, status, headers)


async def refuse_step(request: Request, refused: Exception) -> Reply:
    """The reply to a request that Levelled refuses."""
    del request
    status = next(code for kind, code in _STATUS if isinstance(refused, kind))
    return problem(status, str(refused))


async def refuse_http(request: Request, refused: Exception) -> Reply:
    """The reply to a request without a route, a right or a body of the right size."""
    del request
    assert isinstance(refused, HTTPException)
    headers = None if refused.headers is None else dict(refused.headers)
    return problem(refused.status_code, str(refused.detail), headers)


async def refuse_input(request: Request, refused: Exception) -> Reply:
    """The reply to a request whose fields are wrong, which names the first of them."""
    del request
    assert isinstance(refused, RequestValidationError)
    first = refused.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return problem(422, f"{where or 'The body'}: {first['msg']}.")
