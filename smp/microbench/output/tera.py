"""Published numbers of the Tera MTA, which reports print next to the measurements of this computer.

Every number is stated in the text or in a table of the evaluation, and has its place there; none is read off a figure.
The machine was at the San Diego Supercomputer Center and had four processors of 260 MHz.  The numbers are for one
processor, unless they say otherwise.

Source: Riedy and Vuduc, Microbenchmarking the Tera MTA, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass

MHZ = 260.0
"""Clock rate, from section 1."""
MACHINE = f"Tera MTA, {MHZ:g} MHz"


@dataclass(frozen=True)
class Published:
    """A published number, its unit, and its place in the evaluation."""

    value: float
    unit: str
    place: str

    @property
    def ns(self) -> float:
        """The time in ns, for a number of clocks."""
        return self.value * 1e3 / MHZ


def clocks(value: float, place: str) -> Published:
    """Return a published number of clocks."""
    return Published(value, "clocks", place)


LATENCY = clocks(170, "section 3.1.1, figure 3")
HOT_SPOT = clocks(115, "figure 3")
"""Load of a word that is in the small cache of its memory module, as it is for every look after the first."""
HOT_SPOT_WORDS = Published(256, "words", "section 3.1.1")

STREAM_WAITS = clocks(20, "section 3.1.2, figure 4")
"""Clocks that the rule of thumb adds to the number of streams: an instruction of one of s streams takes s + 20."""

LOOKS = Published(1024, "accesses", "section 3.2, figure 7")
"""Number of looks of a waiting thread before it traps."""

FIFTY_AT_ONCE = clocks(14, "section 3.2.1, figure 8")
"""Clocks for each of 50 streams that have waited for 150 loops; the authors call it impossibly low."""
ACCESSES_ONE_BY_ONE = Published(3, "memory accesses", "section 3.2.1, figure 9")
ACCESSES_PASSED_ON = Published(2, "memory accesses", "section 3.2.2, figure 10")
"""Accesses of each stream of a chain, with some retries in addition."""

START = clocks(2.72e4, "table 1")
START_DEVIATION = clocks(9.72e2, "table 1")
"""The seconds printed next to it are ten times those that this clock rate gives."""
REMAP = clocks(1.72e5, "table 2")
REMAP_DEVIATION = clocks(1.55e4, "table 2")
REMAP_AT_ONCE = clocks(5.39e4, "table 2")
"""Clocks without those of the looks."""
STATE_WORDS = Published(70, "words", "table 3")
"""Largest number of state words of a stream that are written; as many are read for the next stream."""
WORD_CLOCKS = clocks(30, "table 3")
"""Least clocks for an instruction word of the trap handler."""

STREAM_ONE = Published(1.7, "GB/s", "table 4")
STREAM_FOUR = Published(5.8, "GB/s", "table 4")
STREAM_SPEEDUP = Published(3.4, "times", "table 4")

BEST_COPY = Published(2.3, "GB/s", "section 3.4.2, figure 14")
"""Reached by 26 threads that read five words at a time."""
ENOUGH_STREAMS = Published(30, "streams", "section 3.4.2, figure 14")
"""Streams needed for 95% of the best, with five or eight words at a time."""

SERIAL_LIST = Published(2.1, "us per element", "section 4.4.1, figure 18")
"""Three memory references for an element, whatever the length of the list."""


@dataclass(frozen=True)
class Category:
    """A row of table 3: a part of a remapping, its clocks, and the clocks that are left, as printed."""

    name: str
    clocks: float
    left: str


REMAPPING = (
    Category("looks: 1,024 of 115 clocks", LOOKS.value * HOT_SPOT.value, "53,900"),
    Category("state written: 70 words of 170 clocks", STATE_WORDS.value * LATENCY.value, "42,000"),
    Category("state read: 70 words of 170 clocks", STATE_WORDS.value * LATENCY.value, "30,100"),
    Category("instruction words, over 30 clocks each", 30_100, "< 1,010 words"),
)
"""Rows of table 3."""
