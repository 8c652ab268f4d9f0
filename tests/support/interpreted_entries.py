"""The entry points in Python, for an emulated machine that interprets the rings of the host."""

import ctypes
from typing import Any

import numpy as np
import pytest

from smp._runtime.emulated.port import EmulatedPort
from smp._runtime.protocols import entry_points, python_messages, rings
from smp._runtime.shared_memory.networks import RingNetwork


def called(function: Any, *args: Any) -> Any:
    """Call a function of Python's C interface that is written in Python, as the interpreter calls machine code."""
    addresses = np.array([id(arg) for arg in args])
    result = function(0, addresses.ctypes.data, len(args))
    found = ctypes.cast(result, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(found))  # `result` was ours, and ``found`` is a reference of its own
    return found


class InterpretedEntries:
    """What `entry_points.core` returns, in Python."""

    def __getattr__(self, name: str) -> Any:
        return getattr(entry_points, name)

    def send_numbers(self, *args: Any) -> Any:
        return called(python_messages.send_numbers, *args)

    def take_message(self, *args: Any) -> Any:
        return called(python_messages.take_message, *args)

    def take_soon(self, *args: Any) -> Any:
        return called(python_messages.take_soon, *args)


def through_rings(monkeypatch: pytest.MonkeyPatch, slots: int) -> None:
    """Give emulated machines the rings of the host, interpreted, in place of queues."""

    def made(port: Any) -> RingNetwork:
        entries, here, aborted = InterpretedEntries(), port.diagnosis.here, port._aborted
        return RingNetwork(port.memory, port.rank, port.size, entries, here, aborted)

    monkeypatch.setattr(EmulatedPort, "_make_network", made)
    monkeypatch.setattr(rings, "slots_for", lambda processors: slots)
