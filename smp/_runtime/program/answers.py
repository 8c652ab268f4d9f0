"""What a processor answers to a call; a machine sends the answers as they are.

A processor may report one failure while its program still runs, and ends each call with one of the first two:

    Done          the program has returned on all processors
    Stopped       the program has ended, here or elsewhere, by a failure
    Raised        reported: the program has raised an exception
    Mismatched    reported: the program is in another collective than those of other processors
"""

from __future__ import annotations

import copyreg
from dataclasses import dataclass

from .place import Place


@dataclass(frozen=True)
class Done:
    """The pickled result of the program, and the processor's record of supersteps."""

    result: bytes
    record: tuple[bytes, list[str], int]


@dataclass(frozen=True)
class Stopped:
    """The program has ended without a result."""


@dataclass(frozen=True)
class Raised:
    """An exception: its class and text, itself as a pickle (empty if it has none), its traceback and place."""

    kind: str
    text: str
    pickled: bytes
    trace: str
    place: Place


@dataclass(frozen=True)
class Mismatched:
    """The collective in which the processor was, and where."""

    collective: str
    place: Place


Answer = Done | Stopped | Raised | Mismatched

for _code, _class in enumerate((Done, Stopped, Raised, Mismatched), 0xF0):  # codes for private use: to unpickle a
    copyreg.add_extension(__name__, _class.__name__, _code)  # class by its name takes longer than all else of a result
