"""Objects of Python in machine code, each given by its address: the functions of Python's C interface that are used.

Machine code that Python calls may use them while it holds the interpreter's lock (see `python_calls`).  New objects
belong to the caller.  Called from Python, each function does the same through `ctypes`.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .compiler import imported_with_numba

INTEGER, REAL = ctypes.c_int64, ctypes.c_double


def _call(name: str, result: Any, *args: Any) -> Any:
    given = [arg if isinstance(arg, float) else int(arg) for arg in args]
    function = ctypes.PYFUNCTYPE(result, *[REAL if isinstance(arg, float) else INTEGER for arg in given])
    return function((name, ctypes.pythonapi))(*given)


def integer_of(address: int) -> int:
    """Return the value of an int, or -1 and set an error."""
    return int(_call("PyLong_AsLongLong", INTEGER, address))


def float_of(address: int) -> float:
    """Return the value of a float."""
    return float(_call("PyFloat_AsDouble", REAL, address))


def new_integer(value: int) -> int:
    """Return a new int."""
    return int(_call("PyLong_FromLongLong", INTEGER, value))


def new_float(value: float) -> int:
    """Return a new float."""
    return int(_call("PyFloat_FromDouble", INTEGER, float(value)))


def new_bytes(at: int, length: int) -> int:
    """Return new bytes, copied from an address."""
    return int(_call("PyBytes_FromStringAndSize", INTEGER, at, length))


def new_tuple(length: int) -> int:
    """Return a new tuple, to be filled by `set_item`."""
    return int(_call("PyTuple_New", INTEGER, length))


def set_item(address: int, k: int, item: int) -> None:
    """Set an item of a new tuple, which then owns it."""
    _call("PyTuple_SetItem", ctypes.c_int, address, k, item)


def length_of(address: int) -> int:
    """Return the length of a tuple."""
    return int(_call("PyTuple_Size", INTEGER, address))


def item_of(address: int, k: int) -> int:
    """Return an item of a tuple, which goes on owning it."""
    return int(_call("PyTuple_GetItem", INTEGER, address, k))


def keep(address: int) -> None:
    """Make the caller an owner of an object."""
    _call("Py_IncRef", None, address)


def failed() -> bool:
    """Return True if an error is set."""
    return bool(_call("PyErr_Occurred", INTEGER))


def forget_error() -> None:
    """Set no error."""
    _call("PyErr_Clear", None)


def thread() -> int:
    """Return the number of the calling thread, as `threading.get_ident` does."""
    return int(_call("PyThread_get_thread_ident", INTEGER))


def type_offset() -> int:
    """Return where an object of Python has the address of its type, in bytes from its own address."""
    number = 1.5
    return next(at for at in range(0, 64, 8) if ctypes.c_size_t.from_address(id(number) + at).value == id(float))


imported_with_numba(f"{__package__}.with_numba.objects")
