"""Accesses to shared arrays by a program on an emulated machine, and the program lines that make them.

    load(view, i), ...                          a step: `Emulator.step` hands the primitive the plain array
    view[i], view += 1, np.sum(view), ...       no step: looked at for races
    step.copy_in, step.copy_out                 no step: looked at for races
    loop(view) of a loop made by ``local``      no step, and its accesses cannot be seen: noted

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

from smp.errors import RaceError, Unsupported

from ..loops.compiler import when_compiling
from ..source.lines import is_ours, where
from .races import READ, VERBS, WRITE, Races, raise_it

_DESCRIBE = {"base", "device", "dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}
_MAKE_VIEWS = {"T", "diagonal", "imag", "mT", "ravel", "real", "reshape", "squeeze", "swapaxes", "transpose", "view"}
_LOOK = {np.ndim, np.shape, np.size, np.ndarray.__repr__}  # debuggers and pytest show arrays
_RAW = {"__array_interface__", "__array_struct__"}
_HIDE = {"ctypes", "data", "flat"}
"""Attributes through which a program could access elements unseen."""
_CHANGE = {"fill", "itemset", "partition", "put", "resize", "setfield", "sort", "byteswap", "setflags"}
"""Methods that write elements."""
_CHANGE_FIRST = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
"""Functions that write elements of their first argument."""
_OF_THE_CLASS = {"__array_finalize__", "__array_wrap__", "__class_getitem__", "__new__", "__sizeof__"}


class Unseen(NamedTuple):
    """Accesses to a shared array that `explore` can neither interleave with others nor look at for races.

    Attributes
    ----------
    where : str
        The program's line, such as ``"program.py:12"``.
    array : str
        The array that is accessed, such as ``"int64[4]"``.
    by : str
        The means of access: a loop, as in ``"the compiled loop total"``, or an attribute, as in ``".data"``.
    """

    where: str
    array: str
    by: str

    def __str__(self) -> str:
        return f"{self.where}  {self.array} by {self.by}"


class Root(NamedTuple):
    """An array that a program was given, of which it may take parts."""

    array: NDArray[Any]
    described: str

    @property
    def address(self) -> int:
        return int(self.array.__array_interface__["data"][0])

    @property
    def unit(self) -> int:
        """Bytes of what counts as one element: of a record, its bytes count one by one."""
        return 1 if self.array.dtype.fields else self.array.itemsize


class Witness:
    """Looks at the accesses to shared arrays.

    Attributes
    ----------
    on : bool
        True while a program runs. Accesses by ``setup`` and ``check`` are not looked at: no processor runs then.
    races : Races
    running : callable
        Returns the stream that runs.
    report : callable
        Ends the run with a `RaceError`.
    met : callable or None
        Called at the first access instead of a look for races, which needs the order of all steps before.
    step : callable or None
        Makes a step of each access, given its kind; there are no errors on races then.
    touches : callable or None
        Called after such a step, and in place of one for a copy of a superstep, with the array, the numbers of its
        units, and whether they are written.
    hides : callable or None
        Called at an access that cannot be seen, with the array, and whether it is over when the access returns.
    given : list of array
        The arrays that `shown_in` has found in this run.
    """

    def __init__(self) -> None:
        self.on = False
        self.races = Races()
        self.running: Callable[[], Any] = lambda: None
        self.report: Callable[[BaseException], None] = raise_it
        self.met: Callable[[], None] | None = None
        self.step: Callable[[int], None] | None = None
        self.touches: Callable[[Root, NDArray[np.int64], bool], None] | None = None
        self.hides: Callable[[Root, bool], None] | None = None
        self.given: list[NDArray[Any]] = []
        self._unseen: set[Unseen] = set()
        self._places: dict[tuple[CodeType, int, CodeType, int], str] = {}
        self._names: dict[int, str] = {}

    @property
    def places(self) -> tuple[Unseen, ...]:
        """The accesses that could not be seen, each place once."""
        return tuple(sorted(self._unseen))

    def begin(self) -> None:
        """Begin another run; the unseen accesses so far are kept."""
        self.races.begin()
        self._names.clear()
        self.given.clear()

    def shown(self, array: NDArray[Any]) -> Any:
        """Return an object that stands for an array, and whose accesses are looked at."""
        return Witnessed(self, Root(array, f"{array.dtype}{list(array.shape)}"), array)

    def shown_in(self, thing: Any) -> Any:
        """Return a thing with `shown` in place of each NumPy array, also in tuples; change lists and dicts in place."""
        if type(thing) is np.ndarray:
            self.given.append(thing)
            return self.shown(thing)
        if isinstance(thing, tuple):
            made = [self.shown_in(one) for one in thing]
            return type(thing)(*made) if hasattr(thing, "_fields") else tuple(made)
        if isinstance(thing, list | dict):
            for key, one in list(enumerate(thing) if isinstance(thing, list) else thing.items()):
                thing[key] = self.shown_in(one)
        return thing

    def note(self, root: Root, by: str, frame: FrameType, over: bool = False) -> None:
        """Note an access that cannot be seen, and is made in a frame; ``over`` says that it ends before a next step."""
        if self.on:
            self._unseen.add(Unseen(self._place(frame), root.described, by))
            if self.hides is not None:
                self.hides(root, over)

    def accessed(self, part: Witnessed, index: Any, kind: int, frame: FrameType) -> None:
        """Look for a race with an access to a part of an array that is made in a frame."""
        if not self.on:
            return
        if self.step is None:
            self._look(part._root, _units(part._root, part._array, index), kind, frame)
        elif kind in (READ, WRITE):
            self.step(kind)
            if self.touches is not None:
                self.touches(part._root, _units(part._root, part._array, index), kind == WRITE)

    def copied(self, array: NDArray[Any], index: Any, kind: int) -> None:
        """Look for a race with a copy of a superstep, which is no step of its own in any case."""
        if self.step is not None and self.touches is None:
            return
        root = Root(array, f"{array.dtype}{list(array.shape)}")
        for part, picked in _parts(array, index):
            if self.step is None:
                self._look(root, _units(root, part, picked), kind, sys._getframe(2))
            elif self.touches is not None and self.on:
                self.touches(root, _units(root, part, picked), kind != READ)

    def _look(self, root: Root, units: NDArray[np.int64], kind: int, frame: FrameType) -> None:
        stream = self.running()
        if not units.size or stream is None:
            return
        if self.met is not None:
            self.met()
            return
        place = self._place(frame)
        self._names[stream.number] = f"processor {stream.rank}" + f", stream {stream.index}" * (stream.index > 0)
        size = root.array.nbytes // root.unit
        found = self.races.access(stream.number, root.address, size, units, kind, place)
        if found is None:
            return
        element = np.unravel_index(found.unit * root.unit // root.array.itemsize, root.array.shape)
        self.report(
            RaceError(
                f"a race on element [{', '.join(map(str, element))}] of {root.described}: "
                f"{self._names[stream.number]} {VERBS[kind]} it at {place}, and {self._names[found.stream]} "
                f"{VERBS[found.kind]} it at {found.place}. No barrier, cell, message or atomic decides which comes "
                "first; put one between them"
            )
        )

    def _place(self, frame: FrameType) -> str:
        """Return the program's line of a frame."""
        caller = frame
        while is_ours(caller.f_code.co_filename) and caller.f_back is not None:
            caller = caller.f_back
        key = frame.f_code, frame.f_lineno, caller.f_code, caller.f_lineno
        if key not in self._places:
            self._places[key] = where(frame) or f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return self._places[key]


def _units(root: Root, part: NDArray[Any], index: Any) -> NDArray[np.int64]:
    """Return the numbers of the units of an array that lie in ``part[index]``."""
    if type(index) is int and part.ndim == 1 and part.itemsize == root.unit:  # the usual case, quickly
        at = index if index >= 0 else index + len(part)
        return np.array([(_begin(part) - root.address + at * part.strides[0]) // root.unit])
    offsets: Any = np.array(_begin(part) - root.address)
    for length, stride in zip(part.shape, part.strides, strict=True):
        offsets = offsets[..., None] + np.arange(length) * stride
    picked = np.asarray(offsets[index]).reshape(-1)
    if part.itemsize == root.unit:
        found: NDArray[np.int64] = picked // root.unit
        return found
    return np.unique((picked[:, None] + np.arange(part.itemsize)).reshape(-1) // root.unit)


def _begin(part: NDArray[Any]) -> int:
    return int(part.__array_interface__["data"][0])


def _parts(array: NDArray[Any], index: Any) -> Iterator[tuple[NDArray[Any], Any]]:
    """Yield the parts of an array that an index of a copy names, and the index in each; it may name fields."""
    if isinstance(index, str):
        yield array[index], ...
    elif isinstance(index, list) and any(isinstance(one, str) for one in index):
        for name in index:
            yield array[name], ...
    else:
        yield array, index


class _Array(np.ndarray[Any, Any]):
    """The class that a `Witnessed` array claims to be, so that Numba can distinguish it from other arrays."""


class Witnessed:
    """An object that stands for a NumPy array and passes ``isinstance`` as one; it notes accesses to its elements."""

    __slots__ = ("_array", "_root", "_witness")

    def __init__(self, witness: Witness, root: Root, array: NDArray[Any]) -> None:
        for name, value in zip(self.__slots__, (array, root, witness), strict=True):
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc]  # mypy wants a setter, too
    def __class__(self) -> type:
        return _Array

    def _part(self, array: NDArray[Any]) -> Witnessed:
        return Witnessed(self._witness, self._root, array)

    def _access(self, frame: FrameType, kind: int = READ, index: Any = ...) -> None:
        self._witness.accessed(self, index, kind, frame)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        index = plain(index)
        found = self._array[index]
        if isinstance(found, np.ndarray) and np.may_share_memory(found, self._array):
            return self._part(found)
        self._access(sys._getframe(1), READ, index)
        return self._array[index]  # another stream may have run since

    def __setitem__(self, index: Any, value: Any) -> None:
        frame, index = sys._getframe(1), plain(index)
        others = list(_all_of((value,)))
        for other in others:
            other._access(frame)
        value = np.array(plain(value)) if others else value  # read now: the write may be a step of its own
        for part, picked in _parts(self._array, index):
            self._part(part)._access(frame, WRITE, picked)
        self._array[index] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the elements to NumPy; without a copy, what becomes of them is not seen."""
        frame = sys._getframe(1)
        self._access(frame)
        if not copy:
            self._witness.note(self._root, "NumPy", frame)
        return np.array(self._array, dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        if name in _RAW:
            raise AttributeError(name)  # NumPy then calls `__array__`
        found = getattr(self._array, name)
        if name in _MAKE_VIEWS:
            part = self._part
            return (lambda *args, **options: part(found(*args, **options))) if callable(found) else part(found)
        if name in _HIDE:
            self._witness.note(self._root, f".{name}", sys._getframe(1))
        elif name not in _DESCRIBE:
            self._access(sys._getframe(1), WRITE if name in _CHANGE else READ)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        self._access(sys._getframe(1), WRITE)
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


def accesses(what: Any) -> bool:
    """Return True if a use of an array's attribute, by its name, or a call of a method accesses elements."""
    return what not in _LOOK and what not in _DESCRIBE and what not in _MAKE_VIEWS


def handed(loop: Callable[..., Any], args: Any, options: Any) -> tuple[Any, Any]:
    """Return a compiled loop's arguments with plain arrays for witnessed ones; note the call if there are such arrays.

    Only `Emulator.run_local`, which the loop calls, may call this: the frame that is noted, the caller of the loop, is
    three frames up.
    """
    arrays = list(_all_of((args, options)))
    for array in arrays:
        array._witness.note(array._root, f"the compiled loop {loop.__name__}", sys._getframe(3), over=True)
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
    frame = sys._getframe(2)
    written = list(_all_of((options.get("out"),)))
    if function in _CHANGE_FIRST or getattr(function, "__name__", "") == "at":
        written += _all_of(args[:1])
    if function not in _LOOK:
        for array in arrays:
            array._access(frame, WRITE if any(array is one for one in written) else READ)
    if getattr(function, "__name__", "") in _IN_PLACE and type(args[0]) is Witnessed:
        target = args[0]
        changed = function(target._array.copy(), *plain(args[1:]), **plain(options))
        target._access(frame, WRITE)
        target._array[...] = changed
        return target
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


_IN_PLACE = {name for name in vars(np.ndarray) if name.startswith("__i") and f"__{name[3:]}" in vars(np.ndarray)}


def _operator(name: str) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)
    return lambda *args, **options: _by_numpy(method, args, options)


for _name, _method in vars(np.ndarray).items():  # Python looks up operators in the class
    if callable(_method) and _name.startswith("__") and _name not in {*vars(Witnessed), *_OF_THE_CLASS}:
        setattr(Witnessed, _name, _operator(_name))
