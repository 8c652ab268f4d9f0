"""Advice for a word that is not known: the nearest of the known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def advice(word: object, known: Iterable[str]) -> str:
    """Return a question that names the known word nearest to a word, or an empty text if none is near.

    Examples
    --------
    >>> advice("recieve", ("request", "receive"))
    "; did you mean 'receive'?"
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word[:80].lower(), list(names), 1) if isinstance(word, str) else []
    return f"; did you mean {names[near[0]]!r}?" if near else ""
