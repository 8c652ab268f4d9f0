"""The machine of MPI that a measurement is to open: ``mpi:4`` on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import mpi
from smp._runtime.machine import Machine
from smp._runtime.mpi.jobs import place_in_job


@dataclass(frozen=True)
class Ranks:
    """A machine of MPI.

    Parameters
    ----------
    size : int
        Number of processors.
    hosts, launcher
        As for `smp.mpi`.
    """

    size: int
    hosts: str | None = None
    launcher: tuple[str, ...] | None = None

    def open(self) -> Machine:
        """Open the machine."""
        return mpi(self.size, hosts=self.hosts, launcher=self.launcher)

    def __str__(self) -> str:
        words = f" by {' '.join(self.launcher)}" if self.launcher else ""
        return f"mpi:{self.size}{f' on {self.hosts}' if self.hosts else ''}{words}"


def ranks_of(size: int | None, hosts: str | None, launcher: Sequence[str]) -> Ranks:
    """Return a machine; its size is by default that of the launcher's job, or else the number of usable CPUs."""
    job = place_in_job()
    usual = len(usable_cpus()) if job is None else job.size
    return Ranks(usual if size is None else size, hosts, tuple(launcher) or None)
