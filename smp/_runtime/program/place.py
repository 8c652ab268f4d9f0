"""Place of a processor in its program: superstep, phase, source line."""

from __future__ import annotations

from dataclasses import dataclass

from ..source import titles

_PHASES = ("in the copy-in phase of", "in the compute phase of", "in the copy-out phase of", "after")


@dataclass(frozen=True)
class Place:
    """Superstep, phase and source line of a processor; empty if it has not reached any."""

    step: int | None = None
    label: str = ""
    phase: int = 0
    file: str = ""
    line: int = 0
    starts: bool = False
    """True if the processor has not begun to run."""

    def __str__(self) -> str:
        if self.starts:
            return "its start"
        at = titles.place(self.file, self.line) if self.file else ""
        if self.step is None:
            return at
        step = f"{_PHASES[self.phase]} superstep {self.step}" + (f" ({self.label!r})" if self.label else "")
        return f"{at}, {step}" if at else step
