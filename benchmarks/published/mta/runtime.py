"""Figures 7 and 12, tables 1 to 3: costs of the runtime."""

from __future__ import annotations

from smp._runtime.emulated.multithreaded.experiments.runtime import counted_retries, remapping, stream_start
from smp.machines import MachineFile

from ..rows import Part, Row, near


def part(machine: MachineFile, quick: bool) -> Part:
    """Measure retries, the start of a stream, and a remapping; the quick form is the same."""
    found = remapping(machine)
    account = zip(
        ("less the retries", "less the state that is saved", "less the state that is restored"),
        (53_900, 42_000, 30_100),
        found.remainders,
        strict=True,
    )
    rows = [
        Row("figure 7", "retries before a trap", 1023, counted_retries(machine), "", "set", 1023, 1023),
        near(
            "table 1", "start of a stream, with a write", 27_200, stream_start(machine), "cycles", "set", 972 / 27_200
        ),
        near("table 2", "remapping of a stream", 172_000, found.total, "cycles", "set", 0.1),
        near("table 2", "the same without the retries", 53_900, found.remainders[0], "cycles", "set", 0.1),
        *(
            near("table 3", f"remapping {what}", printed, ours, "cycles", "set", 0.02)
            for what, printed, ours in account
        ),
    ]
    return Part("runtime", rows, data=vars(found))
