"""The result: cycles that were measured under contention, next to their predictions, and its table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from smp._output import terminal
from smp._output.notebook import displayed
from smp._output.table import Cell, Column, Marked, Part, Table, text

WIDTH = 100
PLACES = {"word": "one word"}


@dataclass(frozen=True)
class Contended:
    """Cycles of one setting; times are in seconds.

    Attributes
    ----------
    what : str
        "word" if the processors add to one word.
    processors : int
    work : float
        Work in a cycle, as measured without the rest.
    measured, low, high : float
        Time of a cycle: the median over the bursts, and the first and third quartile.
    logp, lopc : float
        Time of a cycle as predicted without contention and with it.
    moved : float
        Share of the additions that came directly after one of another processor, so that the line had to move.
    why : tuple of str
        Reasons not to trust what was measured; empty if there are none.
    """

    what: str
    processors: int
    work: float
    measured: float
    low: float
    high: float
    logp: float
    lopc: float
    moved: float = 0.0
    why: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """Relative error of the time that LoPC predicts."""
        return self.lopc / self.measured - 1.0

    @property
    def logp_error(self) -> float:
        """Relative error of the time without contention."""
        return self.logp / self.measured - 1.0


@dataclass(frozen=True)
class Contention:
    """Cycles under contention, measured and predicted; when printed, it is a table.

    Attributes
    ----------
    rows : tuple of Contended
    latency, occupancy : float
        S_l and S_o of a word, in seconds, from the profile.
    states : tuple of (float, float)
        Placements of the CPUs during the measurement: hand-off of a line in seconds, and share of the time.
    """

    rows: tuple[Contended, ...]
    latency: float
    occupancy: float
    states: tuple[tuple[float, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the rows and the parameters as plain JSON."""
        rows = [asdict(one) | {"error": one.error, "logp_error": one.logp_error} for one in self.rows]
        states = [{"handoff": ns, "share": share} for ns, share in self.states]
        return {"latency": self.latency, "occupancy": self.occupancy, "placement": states, "contention": rows}

    def report(self) -> Part:
        """Return the table."""
        columns = (
            *(text("at"), Column("p", form="count"), _ns("work"), _ns("measured"), _ns("1st quartile"), _ns("3rd")),
            *(_percent("moved"), _ns("LogP"), _ns("LoPC"), _percent("error of LogP"), _percent("error of LoPC")),
        )
        rows: list[list[Cell]] = [
            [
                *(PLACES[one.what], one.processors, one.work),
                Marked(one.measured, why=one.why) if one.why else one.measured,
                *(one.low, one.high, one.moved, one.logp, one.lopc, one.logp_error, one.error),
            ]
            for one in self.rows
        ]
        return Part("Contention, measured and predicted", [Table("", columns, rows, self._notes())])

    def _notes(self) -> list[str]:
        placed = " and ".join(f"{1e9 * seconds:.0f} ns ({share:.0%} of the time)" for seconds, share in self.states)
        return [
            f"From the profile: S_l = {1e9 * self.latency:.1f} ns, S_o = {1e9 * self.occupancy:.1f} ns.",
            f"During the measurement a line passed from CPU to CPU in {placed}." if placed else "",
            "moved: additions that came directly after one of another processor, so that the line had to move.",
            *dict.fromkeys(f"! {why}" for one in self.rows for why in one.why),
        ]

    def __str__(self) -> str:
        return terminal.report([self.report()], WIDTH).rstrip("\n")

    def _repr_html_(self) -> str:
        return displayed([self.report()])


def _ns(name: str) -> Column:
    return Column(name, "ns", form="fixed", digits=1, scale=1e9)


def _percent(name: str) -> Column:
    return Column(name, "%", form="fixed", digits=0, scale=100.0)
