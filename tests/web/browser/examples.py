"""Items of each kind of content, as tools really write them, and hostile ones."""

import base64
import json
import struct
import zlib
from typing import Any

from sklearn.datasets import load_digits

__all__ = ["HOSTILE", "digit_png", "hostile_items", "kinds_of_content"]

_TRACE = [
    {"role": "system", "content": "You are a support agent of a shop. Never promise a refund."},
    {"role": "user", "content": "Where is my order 4711?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "find_order", "arguments": '{"order": 4711, "deep": true}'},
            }
        ],
    },
    {"role": "tool", "name": "find_order", "content": '{"status": "shipped", "days": 2}'},
    {
        "role": "assistant",
        "content": "It is **on its way**:\n\n| step | day |\n|---|---|\n| shipped | Monday |\n",
    },
]
_ANSWER = """## Binary search

It halves the range at each step:

```python
def find(rows, x):
    return bisect.bisect_left(rows, x)
```

1. sort the rows
2. compare with the middle, see [the manual](https://docs.python.org/3/library/bisect.html)
"""
_MAIL = (
    "From: winner@lottery.example\nSubject: You won\n\nDear friend,\n\nyour address was drawn. "
    "Reply with your bank details within three days.\n"
)


def digit_png(at: int) -> bytes:
    """A handwritten digit of scikit-learn as a PNG of 8 times 8 pixels."""
    image = load_digits().images[at]
    rows = b"".join(b"\0" + bytes(int(255 - 15.9 * value) for value in row) for row in image)
    parts = {b"IHDR": struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0), b"IDAT": zlib.compress(rows)}
    parts[b"IEND"] = b""
    chunks = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def kinds_of_content() -> dict[str, dict[str, Any]]:
    """An item of each kind: its columns."""
    url = f"data:image/png;base64,{base64.b64encode(digit_png(3)).decode()}"
    return {
        "text": {"text": _MAIL},
        "markdown": {"question": "Explain binary search.", "output": _ANSWER},
        "chat": {"messages": json.dumps(_TRACE)},
        "json": {"record": json.dumps({"name": "Ann", "orders": [{"id": 1, "paid": True}]})},
        "image": {"image": url},
        "image file": {"image": "seven.png"},
        "table": {"age": 39, "job": "clerk", "hours": 40.5, "married": True, "note": None},
        "pair": {
            "prompt": "Explain rain to a child, in one sentence please.",
            "answer_a": "Clouds are full of water that falls **down**.",
            "answer_b": "Water in the air gets heavy and falls as drops.",
        },
    }


HOSTILE = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "[click](javascript:window.pwned=1)",
    "![track](https://evil.example/pixel.png)",
    "<style>body { display: none }</style>",
    "</div></article><h1 id='value'>0%</h1>",
    "<svg onload='window.pwned = 1'></svg>",
    "<iframe src='https://evil.example'></iframe>",
    "**bold** <a href='data:text/html,<script>window.pwned=1</script>'>x</a>",
    "{{ 7 * 7 }} \u202e\u0000 ${window.pwned = 1}",
)
"""Texts that would do harm in a page that takes them for anything but text."""


def hostile_items() -> list[dict[str, str]]:
    """Items with these texts as text, Markdown, in a chat and in JSON."""
    return [
        {
            "text": text,
            "output": f"# Title\n\n{text}",
            "messages": json.dumps(
                [
                    {"role": text, "content": text},
                    {"role": "assistant", "content": text, "tool_calls": [{"name": text}]},
                ]
            ),
            "record": json.dumps({text: [text]}),
        }
        for text in HOSTILE
    ]
