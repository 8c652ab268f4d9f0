"""The result: cycles that were measured under contention, next to their predictions, and its table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from smp._output import terminal
from smp._output.notebook import displayed
from smp._output.table import Bounded, Cell, Column, Marked, Part, Table, text
from smp.profiles.contention import Contention as Parameters

WIDTH = 100
PLACES = {"word": "one word", "server": "one server"}


@dataclass(frozen=True)
class Contended:
    """Cycles of one setting; times are in seconds.

    Attributes
    ----------
    what : str
        "word" if the processors add to one word, "server" if all but one send requests to that one.
    processors : int
    work : float
        Work in a cycle, as measured without the rest.
    measured, low, high : float
        Time of a cycle: the median over the bursts, and the first and third quartile.
    logp, lopc : float
        Time of a cycle as predicted without contention and with it.
    moved : float, optional
        At a word, share of the additions that came directly after one of another processor, so that the line had to
        move.
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
    moved: float | None = None
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
    parameters : dict of str to Contention
        S_l and S_o from the profile, in seconds, for "word" and "server".
    states : tuple of (float, float)
        Placements of the CPUs during the measurement: hand-off of a line in seconds, and share of the time.
    profiled : float, optional
        Hand-off of a line in the placement that the profile was measured in.
    """

    rows: tuple[Contended, ...]
    parameters: dict[str, Parameters]
    states: tuple[tuple[float, float], ...] = ()
    profiled: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the rows and the parameters as plain JSON."""
        rows = [asdict(one) | {"error": one.error, "logp_error": one.logp_error} for one in self.rows]
        states = [{"handoff": ns, "share": share} for ns, share in self.states]
        parameters = {name: one._asdict() for name, one in self.parameters.items()}
        return {"parameters": parameters, "placement": states, "profile_placement": self.profiled, "contention": rows}

    def report(self) -> Part:
        """Return the table."""
        columns = (
            *(text("at"), Column("p", form="count"), _ns("work"), _ns("measured"), _percent("moved")),
            *(_ns("LogP"), _percent("error"), _ns("LoPC"), _percent("error")),
        )
        rows: list[list[Cell]] = []
        for one in self.rows:
            measured = Bounded(one.measured, one.low, one.high)
            shown: Cell = Marked(measured, why=one.why) if one.why else measured
            moved = "" if one.moved is None else one.moved
            predicted = one.logp, one.logp_error, one.lopc, one.error
            rows.append([PLACES[one.what], one.processors, one.work, shown, moved, *predicted])
        return Part("Contention, measured and predicted", [Table("", columns, rows, self._notes())])

    def _notes(self) -> list[str]:
        placed = " and ".join(f"{1e9 * seconds:.0f} ns ({share:.0%} of the time)" for seconds, share in self.states)
        before = f"; {1e9 * self.profiled:.0f} ns when the profile was measured" if self.profiled else ""
        wrong = [one for one in self.rows if one.why]
        return [
            "measured: median and quartiles; work: the same bursts without the rest; error of each prediction",
            "moved: additions directly after one of another processor, for which the line had to move",
            *(
                f"{PLACES[name]}, from the profile: S_l = {1e9 * latency:.1f} ns, S_o = {1e9 * occupancy:.1f} ns"
                for name, (latency, occupancy) in self.parameters.items()
            ),
            f"placement: a line passed from CPU to CPU in {placed}{before}" if placed else "",
            f"! not valid, {len(wrong)} of {len(self.rows)}: {wrong[0].why[0]}" if wrong else "",
        ]

    def __str__(self) -> str:
        return terminal.report([self.report()], WIDTH).rstrip("\n")

    def _repr_html_(self) -> str:
        return displayed([self.report()])


def _ns(name: str) -> Column:
    return Column(name, "ns", form="fixed", digits=1, scale=1e9)


def _percent(name: str) -> Column:
    return Column(name, "%", form="fixed", digits=0, scale=100.0)
