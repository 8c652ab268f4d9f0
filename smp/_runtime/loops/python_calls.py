"""Functions of Python whose body is machine code, for calls that `ctypes` would make ten times as expensive.

    Python ── builtin function ──▶ arguments to int64 ──▶ release the interpreter's lock ──▶ machine code
           ◀─ int ──────────────── take the lock again ◀──────────────────────────────────── int64

The part between Python and the machine code calls functions of Python's C interface, which are found in this process.
It is made of the text of `text`, together with the machine code.  Here a call with five arguments takes 0.07 us; one of
`ctypes` takes 0.56 us.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable


class Form(enum.Enum):
    """Use of the interpreter's lock by machine code that Python has called."""

    FREE = "other threads may use Python"
    LOCKED = "no other thread uses Python"
    STEPPED = "no other thread does, and the code makes steps of an emulated machine, which may raise an exception"


_FASTCALL = 0x80  # METH_FASTCALL: an array of the arguments, and their number

_DECLARATIONS = """
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
"""


class _Definition(ctypes.Structure):
    """A ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def name_of(name: str) -> str:
    """Return the name under which the part between Python and the function ``name`` is exported."""
    return f"python_{name}"


def text(name: str, arguments: int, form: Form = Form.FREE) -> str:
    """Return the part between Python and the function ``name``, from ``arguments`` int64 to an int64, for LLVM.

    It raises TypeError if it is called with another number of arguments, or with one that is no integer.
    """
    converted = "".join(
        f"""
  %at{k} = getelementptr ptr, ptr %arguments, i64 {k}
  %object{k} = load ptr, ptr %at{k}
  %a{k} = call i64 @PyLong_AsLongLong(ptr %object{k})"""
        for k in range(arguments)
    )
    given = ", ".join(f"i64 %a{k}" for k in range(arguments))
    if form is Form.FREE:
        called = f"""
  %thread = call ptr @PyEval_SaveThread()
  %value = call i64 @"{name}"({given})
  call void @PyEval_RestoreThread(ptr %thread)"""
    elif form is Form.LOCKED:
        called = f"""
  %value = call i64 @"{name}"({given})"""
    else:
        called = f"""
  %value = call i64 @"{name}.landing"({given})
  %raised = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %raised, null
  br i1 %none, label %done, label %failed
done:"""
    elsewhere = f'declare i64 @"{name}.landing"({", ".join(["i64"] * arguments)})' if form is Form.STEPPED else ""
    return f"""{_DECLARATIONS}{elsewhere}
define ptr @"{name_of(name)}"(ptr %self, ptr %arguments, i64 %count) {{
  %right = icmp eq i64 %count, {arguments}
  br i1 %right, label %convert, label %wrong
wrong:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null
convert:{converted}
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %go, label %failed
failed:
  ret ptr null
go:{called}
  %result = call ptr @PyLong_FromLongLong(i64 %value)
  ret ptr %result
}}
"""


def builtin(name: str, address: int) -> tuple[Callable[..., int], object]:
    """Return a function of Python that calls the machine code at ``address``, which is made of `text`.

    Also return an object that must live as long as the function.
    """
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    definition = _Definition(name.encode(), address, _FASTCALL, None)
    return make(ctypes.addressof(definition), None, None), definition
