"""Replies: JSON for any text, items as pages show them, and errors.

Markdown is shown as HTML, an image by its address, an error as one line or as a page for people.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nh3
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from markdown_it import MarkdownIt
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from levelled.campaigns import Ask
from levelled.campaigns.people.shown import fields_of
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import (
    CampaignError,
    ConflictError,
    LevelledError,
    MissingExtraError,
    StorageError,
)
from levelled.reports.page import TEMPLATES as SHARED
from levelled.sources.content import ShownField


def shown_item(settings: CampaignSettings, ask: Ask) -> dict[str, Any]:
    """An item that was asked for, with the kind of each field and the HTML of Markdown."""
    return {**asdict(ask), "fields": render_fields(fields_of(settings, ask.data))}


def render_fields(fields: Sequence[ShownField]) -> list[dict[str, Any]]:
    """Fields as records, with the HTML of Markdown and the addresses of images."""
    shown = []
    for one in fields:
        record = {"name": one.name, "kind": one.kind, "value": one.value}
        if one.kind == "markdown":
            record["html"] = render_markdown(one.value)
        elif one.kind == "chat":
            record["value"] = [_message(message) for message in one.value]
        elif one.kind == "image" and not one.value.startswith("data:"):
            record["src"] = f"images/{quote(one.value, errors='replace')}"
        shown.append(record)
    return shown


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of a chat; models write Markdown, so what they say is rendered."""
    said = message.get("content")
    if isinstance(said, str) and message.get("role") == "assistant":
        return {**message, "html": render_markdown(said)}
    return {**message, "html": None}


LONGEST = 50_000
"""Characters that are rendered; more would take over 0.2 s, and is shown as it is."""
_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code"),
    *("strong", "em", "s", "a", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def render_markdown(text: str) -> str | None:
    """The text as HTML; None if it is too long or nested too deeply to be rendered.

    HTML in the text is shown as text. Images are left out, because fetching one tells its server
    who is looking. What a parser might let through, the sanitiser takes out.

    >>> render_markdown("**Bold**, <b>no tag</b>, [no script](javascript:x)")
    '<p><strong>Bold</strong>, &lt;b&gt;no tag&lt;/b&gt;, [no script](javascript:x)</p>\\n'
    """
    if len(text) > LONGEST:
        return None
    try:
        html = _parser().render(text.encode("utf-8", "replace").decode())
    except RecursionError:
        return None
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("js-default", {"html": False, "maxNesting": 100}).disable("image")


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


async def refuse_error(request: Request, error: Exception) -> Reply | HTMLResponse:
    """The reply to a request that Levelled or the framework refuses.

    Of fields that are wrong, it names the first.
    """
    if isinstance(error, HTTPException):
        headers = None if error.headers is None else dict(error.headers)
        why = _PLAIN.get(error.detail, error.detail)
        return refuse(request, error.status_code, why, headers)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return refuse(request, 422, f"{where or 'The body'}: {first['msg']}.")
    status = next(code for kind, code in _STATUS if isinstance(error, kind))
    return refuse(request, status, str(error))
