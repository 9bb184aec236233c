"""Text from outside, made safe for a terminal."""

_JOINERS = "\u200c\u200d"
"""Not printable, but needed to write Persian and many emoji."""


def plain(value: object, most: int = 200) -> str:
    r"""Text from outside as one safe line: control characters are escaped, the length is cut.

    >>> plain("two\nlines \x1b[31m")
    'two\\nlines \\x1b[31m'
    """
    text = "" if value is None else str(value)
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(
        one if one.isprintable() or one in _JOINERS else one.encode("unicode_escape").decode()
        for one in cut
    )
