"""The words for a call of smp: ``readfe(cells[3])``, ``store(words[0], 5)``, ``words[1] = 3``, ``reduce(2)``.

An array or a set of cells has the name of the program's parameter.  One that is not an argument has the name of a
variable of the function that uses it.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import reprlib
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from ..memory import witness
from ..memory.arrays import GlobalArray
from ..memory.cells import Cells
from ..memory.shared_elements import elements_of
from ..memory.witness import Witnessed
from ..program.processor import Processor
from ..program.superstep import Superstep

LONGEST = 90
_UNNAMED = (Processor, Superstep)
MAKE_VIEWS = {"__getitem__"}
"""Accesses that read no element, if they return a part of an array."""
_SILENT = {"__class__", "__len__"}
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 40


class _Called(NamedTuple):
    """A call: the name of the function, the object of which it is a method, and the arguments that were given."""

    function: str
    target: Any
    args: list[tuple[str, Any]]


class Wording:
    """Names of arrays and cells, and words for calls that use them."""

    def __init__(self, program: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._names: dict[Any, str] = {}
        self._usual: dict[CodeType, dict[str, Any]] = {}  # values of parameters that are not given, by function
        with contextlib.suppress(TypeError, ValueError):  # it has no signature, or cannot be called like this
            for name, argument in inspect.signature(program).bind(None, *args).arguments.items():
                self._name(argument, name)

    def _name(self, thing: Any, name: str) -> None:
        key = _key(thing)
        if key is not None:
            self._names.setdefault(key, name)
        elif isinstance(thing, list | tuple | dict):
            for at, each in thing.items() if isinstance(thing, dict) else enumerate(thing):
                self._name(each, f"{name}[{at!r}]")

    def of_call(self, frame: FrameType, caller: FrameType) -> str:
        """Return the words for a call that begins in a frame; empty if it is not worth a line."""
        function, target, args = self._called(frame)
        if frame.f_code.co_filename == witness.__file__:
            said = self._of_access(frame, target, args, caller)
        elif function == "__exit__":
            said = f"end of {_variable(target, caller) or 'a with block'}"
        elif function.startswith("_"):
            return ""
        else:
            inside = ", ".join(self._arguments(target, args, caller))
            of = "" if target is None or isinstance(target, _UNNAMED) or _key(target) else self._of(target, caller)
            said = f"{of}{function}({inside})"
        return said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."

    def _called(self, frame: FrameType) -> _Called:
        """Return the call of a frame that begins."""
        code, names = frame.f_code, frame.f_locals
        primitive = names.get("meaning")
        if primitive is not None and "args" in names:
            return _Called(primitive.__name__, None, [("", value) for value in names["args"]])
        positional = code.co_varnames[: code.co_argcount]
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :][: bool(code.co_flags & inspect.CO_VARARGS)]
        target = names[positional[0]] if positional[:1] == ("self",) else None
        if code not in self._usual:
            self._usual[code] = _defaults(code.co_name, target, frame)
        usual = self._usual[code]
        args = [("", names[k]) for k in positional[target is not None :] if not _is_usual(usual, k, names[k])]
        args += [("", value) for k in rest for value in names[k]]
        args += [(k, names[k]) for k in named if not _is_usual(usual, k, names[k])]
        return _Called(code.co_name, target, args)

    def _of_access(self, frame: FrameType, array: Any, args: list[tuple[str, Any]], caller: FrameType) -> str:
        function, names = frame.f_code.co_name, frame.f_locals
        used = names.get("name") or names.get("method") or names.get("function")
        if function in _SILENT or not witness.accesses(used) or (function == "<lambda>" and used is None):
            return ""  # it only looks at the array, or makes a view
        if function not in ("__getitem__", "__setitem__"):
            return linecache.getline(caller.f_code.co_filename, caller.f_lineno).strip()
        part, *value = (argument for _, argument in args)
        said = f"{self.of_value(array, caller)}[{_index(part)}]"
        return f"{said} = {self.of_value(value[0], caller)}" if value else said

    def _of(self, target: Any, caller: FrameType) -> str:
        return (_variable(target, caller) or type(target).__name__.lower()) + "."

    def _arguments(self, target: Any, args: list[tuple[str, Any]], caller: FrameType) -> Iterator[str]:
        """Yield words for arguments; an index follows the array or the cells without a comma."""
        given = [("", target), *args] if _key(target) else args
        at = 0
        while at < len(given):
            name, value = given[at]
            at += 1
            said = self.of_value(value, caller)
            if _key(value) and not name and at < len(given) and not given[at][0] and _is_index(given[at][1]):
                said += f"[{_index(given[at][1])}]"
                at += 1
            yield f"{name}={said}" if name else said

    def of_value(self, value: Any, frame: FrameType) -> str:
        """Return a short text for a value that is used in a frame."""
        key = _key(value)
        if key is not None:
            return self._names.get(key) or _variable(value, frame) or _described(value)
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray):
            return np.array2string(value, threshold=6, edgeitems=2, separator=", ").replace("\n", "")
        if isinstance(value, tuple):
            return f"({', '.join(self.of_value(each, frame) for each in value)}{',' * (len(value) == 1)})"
        return getattr(value, "__name__", None) or _short.repr(value)


def is_an_array(value: Any) -> bool:
    """Return True if the result of an access is the array itself, or a part of it."""
    return type(value) is Witnessed


def _defaults(name: str, target: Any, frame: FrameType) -> dict[str, Any]:
    function = frame.f_globals.get(name) if target is None else getattr(type(target), name, None)
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    return {parameter.name: parameter.default for parameter in parameters.values()}


def _is_usual(usual: dict[str, Any], name: str, value: Any) -> bool:
    default = usual.get(name, inspect.Parameter.empty)
    return value is default or (isinstance(value, bool | int | float | str) and value == default)


def _key(thing: Any) -> tuple[str, int] | None:
    """Return what identifies an array or a set of cells, also if several objects stand for it; None for others."""
    if type(thing) is Witnessed:
        whole = thing._array.shape == thing._root.array.shape
        return ("array" if whole else "part", thing._root.address)
    if isinstance(thing, GlobalArray):
        return "array", int(elements_of(thing).all.__array_interface__["data"][0])
    return ("cells", thing._address) if isinstance(thing, Cells) else None


def _variable(thing: Any, frame: FrameType) -> str:
    """Return the name of a variable of a frame that is a thing, or that stands for the same array; empty if none is."""
    key = _key(thing)

    def fits(value: Any) -> bool:
        return value is thing or (key is not None and key[0] != "part" and _key(value) == key)

    return next((name for name, value in frame.f_locals.items() if name.isidentifier() and fits(value)), "")


def _described(thing: Any) -> str:
    return thing._root.described if type(thing) is Witnessed else str(thing)


def _is_index(thing: Any) -> bool:
    return thing is ... or isinstance(thing, int | np.integer | slice | tuple | np.ndarray | list)


def _index(index: Any) -> str:
    if isinstance(index, tuple):
        return ", ".join(map(_index, index))
    if isinstance(index, slice):
        ends = ["" if end is None else str(end) for end in (index.start, index.stop)]
        return ":".join([*ends, str(index.step)] if index.step is not None else ends)
    if index is ...:
        return "..."
    return str(int(index)) if isinstance(index, int | np.integer) else _short.repr(index)
