"""Names of settings, such as ``message.receive``: the keys of the tables, joined by points as in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from ..errors import MachineFileError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(value: str) -> str:
    """Return a text in quotes, as TOML writes it.

    Examples
    --------
    >>> print(text('a "b"'))
    "a \\"b\\""
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04X}", escaped) + '"'


def joined(path: Sequence[str]) -> str:
    """Return the name of a setting.

    Examples
    --------
    >>> joined(("message", "receive"))
    'message.receive'
    >>> print(joined(("loops", "stencil.sweep", "per_point")))
    loops."stencil.sweep".per_point
    """
    return ".".join(key if _BARE.fullmatch(key) else text(key) for key in path)


def parted(name: str) -> tuple[str, ...]:
    """Return the keys in the name of a setting.

    Raises
    ------
    MachineFileError
        If the text is not such a name.

    Examples
    --------
    >>> parted('loops."stencil.sweep".per_point')
    ('loops', 'stencil.sweep', 'per_point')
    """
    path: list[str] = []
    found: Any
    try:
        found = tomllib.loads(f"{name} = 0") if isinstance(name, str) and "\n" not in name else {}
    except (ValueError, RecursionError):
        found = {}
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        path.append(key)
    if not path or found != 0:
        raise MachineFileError(
            f"{name!r} is not the name of a setting; a name is a table and a key, such as 'message.receive'",
            key=str(name),
        )
    return tuple(path)
