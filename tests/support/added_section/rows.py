"""Records of the steps that are counted."""

from __future__ import annotations

from smp._computer.documents import Rows, Size
from smp.profiles.records import Judged, Timed


class Step(Timed):
    length: Size


class Counted(Judged):
    rows: Rows[Step]
