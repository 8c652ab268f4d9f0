"""Programs, arguments and results as bytes: importable objects by name, everything else by value.

cloudpickle does the conversion, with four rules of our own:

- An object that can live in one process only is refused instead of copied (cloudpickle would read an open file).
- A compiled loop is sent with a name and a fingerprint of all that it calls.  A worker that already has this version
  does not compile it again; a worker that has another version does.
- Code keeps the name of its file, so that errors show lines. Some versions of cloudpickle drop the name.
- Source text that lies in no file is sent after the call:       call │ texts │ length of the texts, in _LENGTH bytes
"""

from __future__ import annotations

import contextlib
import io
import pickle
import socket
import sys
import threading
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle

from smp.errors import NotPicklable, SmpError

from ..loops.compiler import is_stream, loop_name, revive
from ..loops.declarations import declared
from ..loops.keys import fingerprint
from ..source import titles
from .captured import protect

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], int]
"""The program, its arguments by position and by name, and the seed of the run."""

_REFUSED: tuple[type, ...] = (
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Thread,
    threading.Condition,
    threading.Event,
    threading.Semaphore,
    io.IOBase,
    socket.socket,
    types.GeneratorType,
    types.CoroutineType,
    types.FrameType,
)


_LENGTH = 8
_LARGE = 100_000_000  # bytes of a call
_SPAWNED = "__mp_main__"
"""Name under which a process that `multiprocessing` has spawned runs the script of its parent."""


class LargeCallWarning(UserWarning):
    """Warns that a run copies much to each processor."""


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        if _SPAWNED in sys.modules:  # no other process can import it
            cloudpickle.register_pickle_by_value(sys.modules[_SPAWNED])
        self.sources: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.CodeType):
            self.sources.add(obj.co_filename)
            made, parts = self.dispatch_table[types.CodeType](obj)
            return _code, (obj.co_filename, made, parts)
        if isinstance(obj, _REFUSED):
            raise NotPicklable(f"a {type(obj).__name__} ({obj!r:.80}) exists in one process only")
        name = loop_name(obj)
        if name and not _importable(obj):
            declares = declared(obj)
            given = declares.given if declares is not None else ()
            return revive, (f"{name} {fingerprint(obj)}", obj.__wrapped__, is_stream(obj), given)
        return super().reducer_override(obj)


def _code(file: str, made: Callable[..., types.CodeType], parts: tuple[Any, ...]) -> types.CodeType:
    """Return code made of its parts, with the name of its file."""
    return made(*parts).replace(co_filename=file)


def _importable(loop: Any) -> bool:
    """Return True if a worker finds the loop by its module and name."""
    found: Any = None if loop.__module__ in ("__main__", _SPAWNED) else sys.modules.get(loop.__module__)
    for name in loop.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is loop


def dumps(obj: Any) -> bytes:
    """Return the object as bytes, or raise an exception that says why it cannot be sent."""
    file = io.BytesIO()
    _Pickler(file).dump(obj)
    return file.getvalue()


def loads(data: bytes | memoryview) -> Any:
    """Return the object from the bytes that `dumps` made of it."""
    try:
        return pickle.loads(data)
    except ModuleNotFoundError as error:
        raise NotPicklable(
            f"module {error.name!r} cannot be imported on the processors; it must be on sys.path when the machine is "
            "opened"
        ) from error


def dump_call(program: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], seed: int) -> bytes:
    """Return a call as bytes.

    Raises
    ------
    NotPicklable
        If a part of the call cannot be sent.  The message names the first such part: an argument, a variable or
        global that the program uses, or the program.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump((program, args, kwargs, seed))
        texts = pickle.dumps(titles.texts_of(pickler.sources))
        file.write(texts + len(texts).to_bytes(_LENGTH, "little"))
    except Exception as error:
        raise refused(program, args, kwargs, error) from error
    if file.tell() > _LARGE:
        warnings.warn(
            f"each run copies {file.tell() / 1e6:.0f} MB to each processor: arguments, and what the program refers to; "
            "let the processors share large arrays, made by machine.array",
            LargeCallWarning,
            stacklevel=3,  # the caller of machine.run
        )
    return file.getvalue()


def refused(
    program: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception, noun: str = "program"
) -> NotPicklable:
    """Return the error for a call that cannot be sent; see `dump_call`."""
    culprit, why = _culprit(program, args, kwargs, noun) or ("the call", error)
    return NotPicklable(
        f"{culprit} cannot be sent to the processors: {why}; pass plain data, or make it inside the {noun}"
    )


def load_call(data: bytes | memoryview) -> Call:
    """Return the call from the bytes that `dump_call` made of it."""
    end = len(data) - _LENGTH
    titles.learn(pickle.loads(data[end - int.from_bytes(data[end:], "little") : end]))
    call: Call = loads(data)
    protect(call[0])
    return call


def load_result(rank: int, data: bytes) -> Any:
    """Return the value that a processor's program returned; a NotPicklable error names the processor."""
    try:
        return loads(data)
    except SmpError as error:
        error.add_note(f"In the result of processor {rank}.")
        raise
    except Exception as error:
        raise NotPicklable(f"the result of processor {rank} cannot be unpickled: {error}; return plain data") from error


def _culprit(program: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], noun: str) -> tuple[str, Exception] | None:
    name = getattr(program, "__name__", repr(program))
    parts: list[tuple[str, Any]] = [(f"argument {i}", value) for i, value in enumerate(args)]
    parts += [(f"argument {key!r}", value) for key, value in kwargs.items()]
    code = getattr(program, "__code__", None)
    if code is not None:
        for closed, cell in zip(code.co_freevars, program.__closure__ or (), strict=False):
            with contextlib.suppress(ValueError):  # not assigned yet
                parts.append((f"{closed!r}, which {name!r} closes over,", cell.cell_contents))
        names = program.__globals__
        parts += [(f"the global {n!r}, which {name!r} uses,", names[n]) for n in code.co_names if n in names]
    parts.append((f"the {noun} {name!r}", program))
    for what, value in parts:
        try:
            dumps(value)
        except SmpError as error:
            return what, error
        except Exception as error:
            return what, TypeError(f"{type(error).__name__}: {error}")
    return None
