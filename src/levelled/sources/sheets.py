r"""Cells of CSV files that people open in a spreadsheet.

A spreadsheet computes text that begins like a formula, and a terminal acts upon control
characters. Both are made harmless when a cell is written: the first by an apostrophe in front,
which is taken away when answers are read, the second as escapes such as \x1b.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_WRITTEN = re.compile(r"'+[=+\-@\t\r]")
_HARMLESS = "\n\t\u200c\u200d"
"""Not printable, but needed: line ends and tabs, and joiners to write Persian and many emoji."""


def safe_cell(text: str) -> str:
    r"""Text that neither a spreadsheet computes nor a terminal acts upon.

    >>> safe_cell("=1+1"), safe_cell("a-b"), safe_cell("\x1b[31m")
    ("'=1+1", 'a-b', '\\x1b[31m')
    """
    shown = "".join(
        one if one.isprintable() or one in _HARMLESS else one.encode("unicode_escape").decode()
        for one in text
    )
    return f"'{shown}" if _FORMULA.match(text) else shown


def read_cell(text: str) -> str:
    """Text without the apostrophe that `safe_cell` put in front of it.

    >>> read_cell("'=1+1"), read_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if _WRITTEN.match(text) else text
