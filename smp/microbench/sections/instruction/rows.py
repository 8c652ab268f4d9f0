"""The record of the section ``instruction``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from typing import Literal

from smp._computer.documents import Count, Number, Size, Some
from smp.profiles.records import Judged, Visited


class Instructions(Visited):
    what: Literal["add", "clock"]
    streams: Size
    clocks_mean: Number
    clocks_std: Number
    total_clocks: Number


class Instruction(Judged):
    rows: Some[Instructions]
    instructions: dict[Literal["add", "clock"], Count]
