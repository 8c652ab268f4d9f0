"""Tables that are printed."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.table import Column, Table, counted
from smp.profiles.profile import Profile

from .rows import Counted


def tables(found: Counted, profile: Profile) -> Iterator[Table]:
    """Yield the time of each length."""
    yield Table("Steps", (counted("length"), Column("time", "ns")), [[row.length, row.ns] for row in found.rows])
