"""The machine code of the functions in `smp._runtime.loops.objects`: calls of Python's C interface."""

from __future__ import annotations

from numba.core.types import ExternalFunction, float64, int32, int64, void

from .. import objects
from ..compiler import overloads

_as_integer = ExternalFunction("PyLong_AsLongLong", int64(int64))
_as_float = ExternalFunction("PyFloat_AsDouble", float64(int64))
_new_integer = ExternalFunction("PyLong_FromLongLong", int64(int64))
_new_float = ExternalFunction("PyFloat_FromDouble", int64(float64))
_new_bytes = ExternalFunction("PyBytes_FromStringAndSize", int64(int64, int64))
_new_tuple = ExternalFunction("PyTuple_New", int64(int64))
_set_item = ExternalFunction("PyTuple_SetItem", int32(int64, int64, int64))
_length_of = ExternalFunction("PyTuple_Size", int64(int64))
_item_of = ExternalFunction("PyTuple_GetItem", int64(int64, int64))
_keep = ExternalFunction("Py_IncRef", void(int64))
_error = ExternalFunction("PyErr_Occurred", int64())
_forget_error = ExternalFunction("PyErr_Clear", void())
_thread = ExternalFunction("PyThread_get_thread_ident", int64())

# Numba wants a lambda with the same parameters for each function; the parameter names are those in ``objects``.
overloads(objects.integer_of, lambda address: lambda address: _as_integer(address))
overloads(objects.float_of, lambda address: lambda address: _as_float(address))
overloads(objects.new_integer, lambda value: lambda value: _new_integer(value))
overloads(objects.new_float, lambda value: lambda value: _new_float(value))
overloads(objects.new_bytes, lambda at, length: lambda at, length: _new_bytes(at, length))
overloads(objects.new_tuple, lambda length: lambda length: _new_tuple(length))
overloads(objects.set_item, lambda address, k, item: lambda address, k, item: _set_item(address, k, item))
overloads(objects.length_of, lambda address: lambda address: _length_of(address))
overloads(objects.item_of, lambda address, k: lambda address, k: _item_of(address, k))
overloads(objects.keep, lambda address: lambda address: _keep(address))
overloads(objects.failed, lambda: lambda: _error() != 0)
overloads(objects.forget_error, lambda: lambda: _forget_error())
overloads(objects.thread, lambda: lambda: _thread())
