"""The description of a machine, with the operations on it: read, changed, written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._computer.data import write
from ..errors import MachineFileError
from .keys import joined, parted
from .layout.closest import advice
from .layout.tables import Tables
from .reading import read
from .walking import all_names
from .writing import document, is_value, toml

BY_DEFAULT = "by default"
"""Source of a setting that a file leaves out."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MachineFile(Tables):
    """The description of a machine, as a machine file gives it.

    `smp.machines.load` makes one. Its fields are the tables of the file, and the fields of these are the settings:
    ``machine.message.receive``. A table that the file leaves out is None. Times are in cycles of ``clock.hz``, sizes in
    bytes, and bandwidths in bytes per second. The page on machine files describes all tables.

    Attributes
    ----------
    name : str
    processors : int
        Number of processors, if the user gives none.
    source : str
        The publication that the machine is from.
    note : str
        What the description leaves out.
    loops : mapping
        For each named loop, its time as terms.
    published : mapping
        For each published result, a `Result`.
    sources : mapping of str to str
        For the name of each setting in the file, its source.

    Examples
    --------
    >>> import smp
    >>> cm5 = smp.machines.load("cm5")
    >>> cm5.message.receive, cm5.source_of("message.receive")
    (62, 'Brewer 1994, section 6.1.3')
    >>> faster = cm5.replace("message.receive", 40)
    >>> faster.message.receive, faster.source_of("message.receive")
    (40, 'of the user')
    """

    def __repr__(self) -> str:
        return f"<machine file {self.name!r}, {self.processors} processors>"

    def source_of(self, name: str) -> str:
        """Return the source of a setting, or of a term of a published result.

        Parameters
        ----------
        name : str
            Name of the setting, such as ``"message.receive"`` or ``"published.round_trip.per_hop"``.

        Returns
        -------
        str
            The source in the file; "of the user" if the file gives none, and "by default" if the file leaves the
            setting out.

        Raises
        ------
        MachineFileError
            If there is no such setting.
        """
        key = joined(parted(name))
        if key in self.sources:
            return self.sources[key]
        known = all_names(self)
        if key in known:
            return BY_DEFAULT
        raise MachineFileError(f"{self.name} has no setting {key!r}{advice(key, known)}", key=key)

    def replace(self, name: str, value: Any) -> MachineFile:
        """Return a copy with another value of a setting or of a table.

        Parameters
        ----------
        name : str
            Name of the setting, such as ``"message.receive"``, or of a table, such as ``"network"``.
        value
            The new value, as in a file: a number, a text, ``{"value": 1.2, "unit": "us", "source": "measured"}``, or a
            mapping for a table. None leaves the setting or the table out.

        Returns
        -------
        MachineFile
            The source of the new value is "of the user", unless the value has one.

        Raises
        ------
        MachineFileError
            If the name is not known or the value is not allowed; the message says what is.

        Notes
        -----
        Times are kept in cycles. So after a change of ``clock.hz`` they have as many cycles, and other seconds.
        """
        path = parted(name)
        made = document(self)
        table: Any = made
        for key in path[:-1]:
            table = table.setdefault(key, {})
            if is_value(table):
                raise MachineFileError(f"{self.name} has no setting {name!r}: {key!r} is not a table", key=name)
        if value is not None:
            table[path[-1]] = value
        elif table.pop(path[-1], None) is None:
            raise MachineFileError(f"{self.name} has no setting {name!r} that could be left out", key=name)
        return read(made, type(self), f"machine {self.name!r}")

    def to_toml(self) -> str:
        """Return the text of a file from which `smp.machines.load` reads an equal description."""
        return toml(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the description to a file, completely or not at all.

        Parameters
        ----------
        path : path_like
            Path of the file, by custom with the ending ``.toml``.
        """
        write(Path(path), self.to_toml())
