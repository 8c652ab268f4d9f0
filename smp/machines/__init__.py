"""Machines as data: files that describe a machine, in which every number stands next to its source.

load           reads a description: of a machine that comes with smp, of a file, or of a mapping
names          the machines that come with smp
MachineFile    a description, as one frozen dataclass; it can be changed and saved

``python -m smp.machines show cm5`` prints a description. The package only describes machines, and runs no program.
"""

from __future__ import annotations

from .files import load, names
from .machine import MachineFile

__all__ = ["MachineFile", "load", "names"]
