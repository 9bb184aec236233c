"""Items, questions and guidelines as pages show them: Markdown as HTML, images by address."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from levelled.campaigns import Ask, Campaign
from levelled.campaigns.people.shown import fields_of
from levelled.campaigns.settings import CampaignSettings
from levelled.sources.content import ShownField
from levelled.web.markdown import render_markdown


def shown_item(settings: CampaignSettings, ask: Ask) -> dict[str, Any]:
    """An item that was asked for, with the kind of each field and the HTML of Markdown."""
    return {**asdict(ask), "fields": render_fields(fields_of(settings, ask.data))}


def page_settings(campaign: Campaign) -> dict[str, Any]:
    """The questions, the label first, the guidelines, and a key for what a browser keeps.

    The key names the pool and the seed, which decide the draws, so an answer that a browser has
    kept is never sent to another campaign of the same name.
    """
    settings = campaign.settings
    text = settings.guidelines
    identity = f"{settings.name} {settings.fingerprint} {settings.seed}"
    return {
        "questions": [asdict(one) for one in campaign.questions],
        "guidelines": {"text": text, "html": render_markdown(text)} if text else None,
        "key": sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    }


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
