"""Documents damaged at random: JSON in which a value is removed, misplaced, or replaced by junk."""

import copy
import json
import math
import random
from typing import Any

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -2.5e-7, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan),
    *(10**9, 10**18, 10**30, 10**400, "", "1", "junk", "9**9**9", "all", "10us", "p = 2", "\ud800", "x" * 300, "é\n\t"),
    *([], [None], [[]], [1, "a"], {}, {"": None}, {"p": 2, "n": [1]}, [{"ns": "x"}]),
)
"""Replacements of a value."""
TEXTS = ("", " ", "null", "[]", "{}", '"junk"', "[" * 100_000, '{"a":' * 100_000, "9" * 5_000, "NaN")
"""Replacements of a whole file."""


def mutated(document: Any, rng: random.Random) -> bytes:
    """Return the JSON of a document that is changed in one to three places or, in 6% of the cases, damaged as text."""
    if rng.random() < 0.06:
        return _damaged(json.dumps(document).encode(), rng)
    made = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change(made, rng)
    return json.dumps(made).encode()


def _damaged(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + rng.choice((b"\xff", b"\x00", b",", b"}", b'"', b"-")) + text[at + 1 :]
    if kind == 2:
        return rng.choice(TEXTS).encode()
    return b"\xef\xbb\xbf" + text


def _change(document: Any, rng: random.Random) -> None:
    """Change a value that is reached from the root by a uniformly random choice at each step."""
    holder, key = document, None
    while isinstance(holder, dict | list) and holder:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        key = rng.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.15:
            break
        holder = inner
    if key is None:
        return
    value = holder[key]
    kind = rng.randrange(12)
    if kind < 2:
        del holder[key]
    elif kind < 7:
        holder[key] = copy.deepcopy(rng.choice(JUNK))
    elif kind == 7:
        holder[key] = _near(value, rng)
    elif kind == 8 and isinstance(value, list):
        del value[rng.randrange(len(value) + 1) :]
    elif kind == 8:
        holder[key] = [value]
    elif kind == 9 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(value))
    elif kind == 9:
        holder[f"{key}_"] = holder.pop(key)
    elif kind == 10:
        other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        holder[key], holder[other] = holder[other], value
    else:
        holder[key] = copy.deepcopy(rng.choice(list(holder.values()) if isinstance(holder, dict) else holder))


def _near(value: Any, rng: random.Random) -> Any:
    """Return a similar value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((-value, 0, value + 1, value - 1, value * 1_000_000, value / 3 if abs(value) < 1e300 else 1))
    if isinstance(value, str):
        return rng.choice((value[:-1], value + value, value.upper(), value.replace("1", "7"), f"{value}9"))
    return value
