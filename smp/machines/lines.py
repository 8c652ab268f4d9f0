"""Finds the line of a TOML text in which a key stands, since Python's reader of TOML does not say it.

A statement of TOML is a header, such as ``[message]``, or a key with its value. It begins in a line of its own, and can
be read by itself. So the text is split into statements, and each is read for its keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

CLOSES = re.compile(r"\]|\"\"\"|'''")
"""The last line of a statement of several lines contains one of these."""
AT = re.compile(r"line (\d+)")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of the first statement that has the most of the keys of a path.

    Parameters
    ----------
    text : str
        A text that is TOML.
    path : tuple of str

    Returns
    -------
    int or None
        Line, from 1; None if no statement has the first key.

    Examples
    --------
    >>> text = "name = 'my'\\n[message]\\nreceive = { value = 62 }"
    >>> [line_of(text, path) for path in (("message", "receive"), ("message", "request"), ("clock",))]
    [3, 2, None]
    """
    best, line = 0, None
    for number, header, statement in _statements(text):
        depth = _depth((*header, statement), path)
        if depth > best:
            best, line = depth, number
    return line


def line_of_syntax_error(text: str, error: Exception) -> int:
    """Return the line in which TOML is broken.

    Parameters
    ----------
    text : str
    error : Exception
        The error that `tomllib.loads` raised for the text.
    """
    lines = text.splitlines() or [""]
    if found := AT.search(str(error)):
        return int(found[1])
    if not isinstance(error, tomllib.TOMLDecodeError):  # not about the grammar, but about one value
        for number, line in enumerate(lines, 1):
            try:
                tomllib.loads(line)
            except tomllib.TOMLDecodeError:
                continue
            except (ValueError, RecursionError):
                return number
    return len(lines)


def _statements(text: str) -> Iterator[tuple[int, tuple[str, ...], Any]]:
    """Yield the line of each statement, the keys of its header, and what it says."""
    header: tuple[str, ...] = ()
    begun: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not begun:
            start = number
        begun.append(line)
        if len(begun) > 1 and not CLOSES.search(line):
            continue
        try:
            found = tomllib.loads("\n".join(begun))
        except tomllib.TOMLDecodeError:
            continue
        first, begun = begun[0].lstrip(), []
        if first.startswith("["):
            header = tuple(_chain(found))
            yield start, header, {}
        elif found:
            yield start, header, found


def _chain(found: Any) -> Iterator[str]:
    """Yield the keys of a header."""
    while found:
        found = found[0] if isinstance(found, list) else found
        for key, inner in found.items():
            yield key
            found = inner


def _depth(statement: tuple[Any, ...], path: tuple[str, ...]) -> int:
    """Return how many of the first keys of a path a statement has."""
    *header, found = statement
    for depth, key in enumerate(path):
        if depth < len(header):
            if header[depth] != key:
                return 0
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            return depth
    return len(path)
