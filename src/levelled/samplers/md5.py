"""The md5 of many short texts at once.

Hashing text by text costs about a microsecond each in Python, most of it around the hash. Here one
array operation makes the same step for thousands of texts.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 55  # bytes of a message that fits one block of 64, with its end mark and its length
_ROWS = 16_384  # texts hashed at once: they stay in the cache
_Words = NDArray[np.uint64]
_Block = NDArray[np.uint32]

# RFC 1321: the four words of the state, the constants of the 64 steps, and their rotations.
_STATE = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES = [np.uint32(math.floor(abs(math.sin(step + 1)) * 2**32)) for step in range(64)]
_TURNS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
_PLACES = ((1, 0), (5, 1), (3, 5), (7, 0))  # step i of a round reads word (a * i + b) % 16


def first_words(prefix: bytes, texts: pa.StringArray) -> _Words:
    """The first 8 bytes of md5(prefix + text) for each text, as big-endian numbers.

    The prefix must be shorter than 56 bytes.

    >>> import pyarrow as pa
    >>> [f"{word:016x}" for word in first_words(b"7:", pa.array(["12", "a" * 80])).tolist()]
    ['d22e2ce9601dc1bb', '10a46f45e3d53bda']
    """
    words = np.empty(len(texts), np.uint64)
    for start in range(0, len(texts), _ROWS):
        chunk = texts.slice(start, _ROWS)
        data, edges = _bytes_and_edges(chunk)
        length = np.diff(edges)
        long = len(prefix) + length > _LONGEST
        block = _message(prefix, data, edges, np.where(long, 0, length))
        words[start : start + _ROWS] = _digest(block)
        for at in np.flatnonzero(long).tolist():
            text = data[edges[at] : edges[at + 1]].tobytes()
            whole = hashlib.md5(prefix + text, usedforsecurity=False).digest()
            words[start + at] = int.from_bytes(whole[:8], "big")
    return words


def _bytes_and_edges(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", np.uint8), edges


def _message(
    prefix: bytes, data: NDArray[np.uint8], edges: NDArray[np.int32], length: NDArray[np.int32]
) -> _Block:
    """The padded message of each text as 16 words: an array [16, texts]."""
    n, skip = len(length), len(prefix)
    message = np.zeros((n, 64), np.uint8)
    message[:, :skip] = np.frombuffer(prefix, np.uint8)
    within = np.arange(length.max(), dtype=np.int32)
    if len(within):
        signs = data.take(edges[:-1, None] + within, mode="clip")
        signs *= within < length[:, None]
        message[:, skip : skip + len(within)] = signs
    message[np.arange(n), skip + length] = 0x80
    words = message.view("<u4").astype(np.uint32)
    words[:, 14] = 8 * (skip + length)
    return np.ascontiguousarray(words.T)


def _digest(message: _Block) -> _Words:
    """The 64 steps of md5 on one block a text, and the first two words of the result."""
    a, b, c, d = (np.full(message.shape[1], word, np.uint32) for word in _STATE)
    mixed, high = np.empty_like(a), np.empty_like(a)
    for step in range(64):
        part, within = divmod(step, 16)
        _mix(part, b, c, d, mixed, high)
        factor, offset = _PLACES[part]
        mixed += message[(factor * step + offset) % 16]
        mixed += _SINES[step]
        mixed += a
        turn = _TURNS[part][within % 4]
        np.right_shift(mixed, np.uint32(32 - turn), out=high)
        np.left_shift(mixed, np.uint32(turn), out=mixed)
        mixed |= high
        mixed += b
        a, b, c, d, mixed = d, mixed, b, c, a
    a += np.uint32(_STATE[0])
    b += np.uint32(_STATE[1])
    return (a.byteswap().astype(np.uint64) << np.uint64(32)) | b.byteswap()


def _mix(part: int, b: _Block, c: _Block, d: _Block, out: _Block, spare: _Block) -> None:
    """The function of a round, into `out`: F, G, H and I of the RFC."""
    if part == 0:  # (b & c) | (~b & d)
        np.bitwise_xor(c, d, out=out)
        out &= b
        out ^= d
    elif part == 1:  # (d & b) | (~d & c)
        np.bitwise_xor(b, c, out=out)
        out &= d
        out ^= c
    elif part == 2:
        np.bitwise_xor(b, c, out=out)
        out ^= d
    else:
        np.invert(d, out=spare)
        spare |= b
        np.bitwise_xor(c, spare, out=out)
