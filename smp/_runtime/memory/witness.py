"""Accesses to shared memory that are not steps of an emulated machine, and the program lines that make them.

    load(view, i), ...                          a step: `Emulator.step` hands the primitive the plain array
    view[i], view += 1, np.sum(view), ...       no step: noted
    loop(view) of a loop made by ``local``      no step: noted
    step.copy_out                               no step: noted if it overlaps another processor's

A program is given a `Witnessed` array for each array that it can reach.  A `Witnessed` array stands for a NumPy array
but is not one, so that even NumPy's C code has to ask it for its elements.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp.errors import Unsupported

from ..loops.compiler import when_compiling
from ..source.lines import is_ours, where

_DESCRIBE = {"base", "device", "dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}
_MAKE_VIEWS = {"T", "diagonal", "imag", "mT", "ravel", "real", "reshape", "squeeze", "swapaxes", "transpose", "view"}
_LOOK = {np.ndim, np.shape, np.size}
_OF_THE_CLASS = {"__array_finalize__", "__array_wrap__", "__class_getitem__", "__new__", "__sizeof__"}


class Unseen(NamedTuple):
    """Accesses to shared memory that `explore` does not interleave with those of other processors.

    Attributes
    ----------
    where : str
        The program's line, such as ``"program.py:12"``.
    array : str
        The array that is accessed, such as ``"int64[4]"``.
    by : str
        The means of access: ``"array.view"``; ``"NumPy"``, for an array that ``setup`` returned; the loop, as in
        ``"the compiled loop total"``; or ``"copy_out"``, if two processors write the same elements in one superstep.
    """

    where: str
    array: str
    by: str

    def __str__(self) -> str:
        return f"{self.where}  {self.array} by {self.by}"


class Witness:
    """Collects the accesses to shared memory that are not steps.

    Attributes
    ----------
    on : bool
        True while a program runs. Accesses by ``setup`` and ``check`` are not noted: no processor runs then.
    """

    def __init__(self) -> None:
        self.on = False
        self._unseen: set[Unseen] = set()
        self._known: set[tuple[CodeType, int, CodeType, int, str, str]] = set()
        self._writers: dict[int, NDArray[np.int64]] = {}

    @property
    def places(self) -> tuple[Unseen, ...]:
        """The accesses that were noted, each place once."""
        return tuple(sorted(self._unseen))

    def begin(self) -> None:
        """Begin another run; the accesses noted so far are kept."""
        self._writers.clear()

    def shown(self, array: NDArray[Any], by: str) -> Any:
        """Return an object that stands for an array, and whose accesses are noted."""
        return Witnessed(self, array, _described(array), by)

    def shown_in(self, thing: Any) -> Any:
        """Return a thing with `shown` in place of each NumPy array, also in tuples; change lists and dicts in place."""
        if type(thing) is np.ndarray:
            return self.shown(thing, "NumPy")
        if isinstance(thing, tuple):
            made = [self.shown_in(one) for one in thing]
            return type(thing)(*made) if hasattr(thing, "_fields") else tuple(made)
        if isinstance(thing, list | dict):
            for key, one in list(enumerate(thing) if isinstance(thing, list) else thing.items()):
                thing[key] = self.shown_in(one)
        return thing

    def note(self, array: str, by: str, frame: FrameType) -> None:
        """Note an access that is made in a frame."""
        if not self.on:
            return
        caller = frame
        while is_ours(caller.f_code.co_filename) and caller.f_back is not None:
            caller = caller.f_back
        known = frame.f_code, frame.f_lineno, caller.f_code, caller.f_lineno, array, by
        if known not in self._known:
            self._known.add(known)
            place = where(frame) or f"{frame.f_code.co_filename}:{frame.f_lineno}"
            self._unseen.add(Unseen(place, array, by))

    def copied_out(self, array: NDArray[Any], index: Any, rank: int, turn: int) -> None:
        """Note a copy-out that overlaps another processor's in the same turn.

        A turn is the time between two barriers.
        """
        if array.ctypes.data not in self._writers:
            self._writers[array.ctypes.data] = np.full((2, *array.shape), -1)
        field = isinstance(index, str) or (isinstance(index, list) and any(isinstance(one, str) for one in index))
        turns, ranks = self._writers[array.ctypes.data]
        part = ... if field else index
        if np.any((turns[part] == turn) & (ranks[part] != rank)):
            self.note(_described(array), "copy_out", sys._getframe(1))
        turns[part], ranks[part] = turn, rank


def _described(array: NDArray[Any]) -> str:
    return f"{array.dtype}{list(array.shape)}"


class _Array(np.ndarray[Any, Any]):
    """The class that a `Witnessed` array claims to be, so that Numba can distinguish it from other arrays."""


class Witnessed:
    """An object that stands for a NumPy array and passes ``isinstance`` as one; it notes accesses to its elements."""

    __slots__ = ("_array", "_by", "_described", "_witness")

    def __init__(self, witness: Witness, array: NDArray[Any], described: str, by: str) -> None:
        for name, value in zip(self.__slots__, (array, by, described, witness), strict=True):
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc]  # mypy wants a setter, too
    def __class__(self) -> type:
        return _Array

    def _part(self, array: NDArray[Any]) -> Witnessed:
        return Witnessed(self._witness, array, self._described, self._by)

    def _note(self, frame: FrameType, by: str = "") -> None:
        self._witness.note(self._described, by or self._by, frame)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        found = self._array[plain(index)]
        if isinstance(found, np.ndarray) and np.may_share_memory(found, self._array):
            return self._part(found)
        self._note(sys._getframe(1))
        return found

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._array, name)
        if name in _MAKE_VIEWS:
            part = self._part
            return (lambda *args, **options: part(found(*args, **options))) if callable(found) else part(found)
        if name not in _DESCRIBE:
            self._note(sys._getframe(1))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        self._note(sys._getframe(1))
        setattr(self._array, name, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _by_numpy(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _by_numpy(function, args, options)


def plain(thing: Any) -> Any:
    """Return the array that a witnessed one stands for, also in tuples, lists and dicts; anything else unchanged."""
    kind = type(thing)
    if kind is Witnessed:
        return thing._array
    if kind is tuple or kind is list:
        return kind(map(plain, thing))
    return {key: plain(one) for key, one in thing.items()} if kind is dict else thing


def handed(loop: Callable[..., Any], args: Any, options: Any) -> tuple[Any, Any]:
    """Return a compiled loop's arguments with plain arrays for witnessed ones; note the call if there are such arrays.

    Only `Emulator.run_local`, which the loop calls, may call this: the frame that is noted, the caller of the loop, is
    three frames up.
    """
    arrays = list(_all_of((args, options)))
    for array in arrays:
        array._note(sys._getframe(3), f"the compiled loop {loop.__name__}")
    return (plain(args), plain(options)) if arrays else (args, options)


def _all_of(things: Any) -> Iterator[Witnessed]:
    """Yield the witnessed arrays among some things, also those in tuples, lists and dicts."""
    for thing in things.values() if type(things) is dict else things:
        if type(thing) is Witnessed:
            yield thing
        elif type(thing) in (tuple, list, dict):
            yield from _all_of(thing)


def _by_numpy(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """Apply a NumPy function to witnessed arrays.

    If it returns one of them, as ``+=`` does, the result is that witnessed array.
    """
    arrays = list(_all_of((args, options)))
    if function not in _LOOK:
        for array in arrays:
            array._note(sys._getframe(2))
    result = function(*plain(args), **plain(options))
    return next((array for array in arrays if array._array is result), result)


def _refused(array: Any, _: object) -> None:
    raise Unsupported(
        "a function compiled by Numba alone was called with a shared array, and smp.explore cannot see its "
        "accesses; compile it with smp.stream, which is interpreted here, or with smp.local"
    )


def _teach_numba() -> None:
    from numba.extending import typeof_impl

    typeof_impl.register(_Array)(_refused)


when_compiling(_teach_numba)


def _operator(name: str) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)
    return lambda *args, **options: _by_numpy(method, args, options)


for _name, _method in vars(np.ndarray).items():  # Python looks up operators in the class
    if callable(_method) and _name.startswith("__") and _name not in {*vars(Witnessed), *_OF_THE_CLASS}:
        setattr(Witnessed, _name, _operator(_name))
