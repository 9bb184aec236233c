"""Replies: JSON for any text, and errors as one line, or as a page for people."""

import json
from pathlib import Path
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from levelled.errors import (
    CampaignError,
    ConflictError,
    LevelledError,
    MissingExtraError,
    StorageError,
)
from levelled.reports.page import TEMPLATES as SHARED

TEMPLATES = Jinja2Templates(directory=[Path(__file__).parent / "templates", SHARED])
"""The pages are built on the base of the report."""


_STATUS = (
    (ConflictError, 409),
    (StorageError, 503),
    (MissingExtraError, 501),
    (CampaignError, 409),
    (LevelledError, 422),
)
"""The status of each kind of error; the first that fits counts."""

_PLAIN = {
    "Not Found": "There is no such address.",
    "Method Not Allowed": "This address does not take such a request.",
}
"""What the framework says, and what that means."""


class Problem(BaseModel):
    """An error: what happened, and what to do."""

    error: str


class Reply(JSONResponse):
    """JSON in ASCII, which holds any text: also half a surrogate pair from a pool."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401
        """The bytes of the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def problem(status: int, why: str, headers: dict[str, str] | None = None) -> Reply:
    """An error as JSON, for scripts."""
    return Reply({"error": " ".join(why.split())[:2000]}, status, headers)


def refuse(
    request: Request, status: int, why: str, headers: dict[str, str] | None = None
) -> Reply | HTMLResponse:
    """The reply to a request that is refused: a page for a browser that asks for one, or JSON."""
    if "text/html" not in request.headers.get("accept", ""):
        return problem(status, why, headers)
    context = {"why": " ".join(why.split())[:2000], "root": request.scope["root_path"]}
    return TEMPLATES.TemplateResponse(request, "refused.html", context, status, headers)


async def refuse_step(request: Request, refused: Exception) -> Reply | HTMLResponse:
    """The reply to a request that Levelled refuses."""
    status = next(code for kind, code in _STATUS if isinstance(refused, kind))
    return refuse(request, status, str(refused))


async def refuse_http(request: Request, refused: Exception) -> Reply | HTMLResponse:
    """The reply to a request without a route, a right or a body of the right size."""
    assert isinstance(refused, HTTPException)
    headers = None if refused.headers is None else dict(refused.headers)
    why = _PLAIN.get(refused.detail, refused.detail)
    return refuse(request, refused.status_code, why, headers)


async def refuse_input(request: Request, refused: Exception) -> Reply | HTMLResponse:
    """The reply to a request whose fields are wrong, which names the first of them."""
    assert isinstance(refused, RequestValidationError)
    first = refused.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return refuse(request, 422, f"{where or 'The body'}: {first['msg']}.")
