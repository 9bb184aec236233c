"""Items and guidelines as pages show them: Markdown as HTML, images by address."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt

from levelled.campaigns import Ask
from levelled.campaigns.people.shown import fields_of
from levelled.campaigns.settings import CampaignSettings
from levelled.sources.content import ShownField


def shown_item(settings: CampaignSettings, ask: Ask) -> dict[str, Any]:
    """An item that was asked for, with the kind of each field and the HTML of Markdown."""
    return {**asdict(ask), "fields": render_fields(fields_of(settings, ask.data))}


def render_fields(fields: Sequence[ShownField]) -> list[dict[str, Any]]:
    """Fields as records, with the HTML of Markdown and the addresses of images."""
    return [_render(one) for one in fields]


def _render(field: ShownField) -> dict[str, Any]:
    more: dict[str, Any] = {}
    value = field.value
    if field.kind == "markdown":
        more = {"html": render_markdown(value)}
    elif field.kind == "chat":
        value = [_message(one) for one in value]
    elif field.kind == "image" and not value.startswith("data:"):
        more = {"src": f"images/{quote(value, errors='replace')}"}
    return {"name": field.name, "kind": field.kind, "value": value, **more}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of a chat; models write Markdown, so what they say is rendered."""
    said = message.get("content")
    if isinstance(said, str) and message.get("role") == "assistant":
        return {**message, "html": render_markdown(said)}
    return {**message, "html": None}


LONGEST = 50_000
"""Characters that are rendered; longer text is shown as it is."""
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
