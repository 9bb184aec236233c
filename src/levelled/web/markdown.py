"""Markdown of pools and guidelines as HTML that can do no harm."""

from functools import cache

import nh3
from markdown_it import MarkdownIt

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
