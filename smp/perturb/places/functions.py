"""Functions whose calls are places, although their source names none.

    with placed("sorting.partition", Stack.push):      each call is a pass of the place "sorting.partition",
        ...                                            or "stacks.Stack.push"

The function itself stays where it is, and gets other code, which enters the place and calls a copy of the function as
it was. So all references to the function lead there: names imported from its module, methods, entries in tables.

this process                 other code from the entry of the block to its end
processors of a machine      a function of an importable module gets other code there, too, while the program runs (see
                             `carrying`, `counting`); any other is sent by value, with its other code
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

from smp._runtime.loops.compiler import loop_name
from smp._runtime.loops.keys import INLINE, MERGED
from smp._runtime.loops.places import PLACES

from .factors import check_name
from .paths import PATHS, checked_path, place_of

MAIN = "__main__"
Given = str | Callable[..., Any]
_PLACE, _ORIGINAL = "the place", "the function as it was"
_TEXT = f"""
def outer({{cells}}):
    def placed(*args, **kwargs):
        place = {_PLACE!r}
        original = {_ORIGINAL!r}
        with place:
            return original(*args, **kwargs)
        ({{cells}})
"""
"""Source of the other code. The constants are replaced; the last line makes it hold as many cells as the function."""


class NotAPlace(ValueError):
    """Raised for a name that is not that of a function whose calls can be places."""


class Spot(NamedTuple):
    """A function whose calls are a place, as it is found in any process."""

    name: str
    """Name of the place."""
    module: str
    path: str
    """Name of the function in its module, with those of the classes around it."""


class _Swapped(NamedTuple):
    spot: Spot
    function: FunctionType  # keeps it alive, since the key is its id
    code: CodeType
    """The code that it had."""
    blocks: int
    """Number of open blocks that name it."""


_swapped: dict[int, _Swapped] = {}
"""Functions that have other code, by id; written under `Places.setting`."""


@contextlib.contextmanager
def placed(*functions: Given, paths: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Make each call of some functions the pass of a place during the block, without a change of their source.

    So that delays can be set on data paths as well, operations of the runtime can be places.

    Parameters
    ----------
    *functions : str or callable
        ``"module.function"`` or ``"module.Class.method"``, which is also the name of the place; or a function itself.
        Properties and cached properties are methods, too. The module is imported if it is not yet.
    paths : sequence of str
        Data paths whose operations are places: ``copy_in``, ``copy_out``, ``send``, ``receive``, ``send_block``,
        ``collectives``, ``barriers``, ``cells`` (see `smp.perturb.places.paths`). Only operations from Python are seen,
        not those of compiled loops.

    Yields
    ------
    tuple of str
        Names of the places.

    Raises
    ------
    ValueError
        If there is no such function, or its calls cannot be seen: builtins, compiled loops and functions for them,
        generators and coroutines, classes. Or if there is no such data path.
    TypeError
        If a function is neither named nor a function.

    Examples
    --------
    >>> import textwrap
    >>> from smp.perturb import counted, placed
    >>> with placed("textwrap.dedent"), counted() as met:
    ...     text = textwrap.dedent("  a")
    >>> met["textwrap.dedent"].passes
    1
    """
    found = [_found(one) for one in functions]
    names = [*(spot.name for spot, _ in found), *map(checked_path, paths)]
    for name in paths:
        for module, path in PATHS[name].functions():
            found.append((Spot(name, module, path), _in_module(name, importlib.import_module(module), path)))
    with _set(found):
        yield tuple(dict.fromkeys(names))


def spots() -> tuple[Spot, ...]:
    """Return the functions with other code that other processes can import."""
    return tuple(one.spot for one in _swapped.values() if one.spot.module != MAIN and "<" not in one.spot.path)


@contextlib.contextmanager
def placed_here(wanted: Iterable[Spot]) -> Iterator[None]:
    """Make the calls of these functions places in this process, too, during the block.

    Those that cannot be imported here are left out: then a program cannot call them here either.
    """
    found = []
    for spot in wanted:
        with contextlib.suppress(ImportError, NotAPlace):
            found.append((spot, _in_module(spot.name, importlib.import_module(spot.module), spot.path)))
    with _set(found):
        yield


def place_for_good(name: str) -> Callable[[Any], Any]:
    """Return a decorator that makes the calls of a function a place until the process ends."""

    def decorated(function: Any) -> Any:
        plain = _plain(name, function)
        _swap(Spot(name, MAIN, plain.__qualname__), plain)
        return function

    return decorated


@contextlib.contextmanager
def _set(found: Iterable[tuple[Spot, FunctionType]]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for spot, function in found:
            _swap(spot, function)
            stack.callback(_restore, function)
        yield


def _swap(spot: Spot, function: FunctionType) -> None:
    with PLACES.setting:
        before = _swapped.get(id(function)) or _Swapped(spot, function, function.__code__, 0)
        if before.spot.name != spot.name:
            raise NotAPlace(f"{spot.name} and {before.spot.name} are the same function: give one of the names")
        if not before.blocks:
            function.__code__ = _other_code(spot.name, function)
        _swapped[id(function)] = before._replace(blocks=before.blocks + 1)


def _restore(function: FunctionType) -> None:
    with PLACES.setting:
        one = _swapped.pop(id(function))
        if one.blocks > 1:
            _swapped[id(function)] = one._replace(blocks=one.blocks - 1)
        else:
            function.__code__ = one.code


def _other_code(name: str, function: FunctionType) -> CodeType:
    """Return code that passes the place, and calls a copy of the function with the code that it has now."""
    code = function.__code__
    copy = FunctionType(code, function.__globals__, code.co_name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__module__,
    )
    tree = ast.parse(_TEXT.format(cells=", ".join(f"cell_{i}" for i in range(len(code.co_freevars)))))
    for node in ast.walk(tree):  # all of it lies in the first line of the function, as a user sees it
        if "lineno" in node._attributes:
            node.lineno = node.end_lineno = code.co_firstlineno  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    made = compile(tree, code.co_filename, "exec", dont_inherit=True)
    for _ in ("outer", "placed"):
        made = next(one for one in made.co_consts if isinstance(one, CodeType))
    held = {_PLACE: place_of(name), _ORIGINAL: copy}
    consts = tuple(held.get(one, one) if isinstance(one, str) else one for one in made.co_consts)
    return made.replace(co_consts=consts, co_name=code.co_name, co_qualname=code.co_qualname)


def _found(given: Given) -> tuple[Spot, FunctionType]:
    """Return a function by its name, or the name of a function."""
    if not isinstance(given, str):
        if not callable(given):
            raise TypeError(f"give the name of a function, such as module.name, or a function, not {given!r}")
        function = inspect.unwrap(given, stop=_is_plain)
        module, path = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        name = f"{module}.{path}"
        plain = _plain(name, getattr(function, "__func__", function))  # a method's
        check_name(name)
        return Spot(name, module, path), plain
    check_name(given)
    module, path = _module_of(given)
    return Spot(given, module.__name__, path), _in_module(given, module, path)


def _module_of(name: str) -> tuple[ModuleType, str]:
    """Return the module that begins a name, imported, and the rest of the name."""
    parts = name.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise NotAPlace(
            f"{name!r} names no function of a module: write module.function or module.Class.method, such as "
            "textwrap.dedent"
        )
    for count in range(len(parts) - 1, 0, -1):
        wanted = ".".join(parts[:count])
        if wanted in sys.modules:
            return sys.modules[wanted], ".".join(parts[count:])
        try:
            return importlib.import_module(wanted), ".".join(parts[count:])
        except ModuleNotFoundError as error:
            if not (error.name and f"{wanted}.".startswith(f"{error.name}.")):
                raise NotAPlace(f"{wanted}, which {name} names, cannot be imported: {error}") from error
        except ImportError as error:
            raise NotAPlace(f"{wanted}, which {name} names, cannot be imported: {error}") from error
    raise NotAPlace(f"there is no module {parts[0]!r}, which {name} names: it must be on sys.path")


def _in_module(name: str, module: ModuleType, path: str) -> FunctionType:
    """Return the function at a path in a module, if its calls can be a place."""
    found: Any = module
    for part in path.split("."):
        holder = found
        members = vars(holder) if isinstance(holder, type | ModuleType) else {}
        if part in members:
            found = members[part]
        elif isinstance(holder, ModuleType) and hasattr(holder, part):  # imported on first use
            found = getattr(holder, part)
        else:
            _missing(name, holder, part)
    return _plain(name, found)


def _missing(name: str, holder: Any, part: str) -> NoReturn:
    if isinstance(holder, type):
        base = next((base for base in holder.__mro__[1:] if part in vars(base)), None)
        if base is not None:
            raise NotAPlace(
                f"{name} is inherited, and is {base.__module__}.{base.__qualname__}.{part}: give that name, which "
                "stands for its calls from all classes"
            )
    kind = "class" if isinstance(holder, type) else type(holder).__name__
    here = getattr(holder, "__qualname__", None) or getattr(holder, "__name__", repr(holder))
    near = get_close_matches(part, [one for one in vars(holder) if callable(vars(holder)[one])], 3)
    hint = f"; it has {', '.join(near)}" if near else ""
    raise NotAPlace(f"{name} does not exist: the {kind} {here} has no {part!r}{hint}")


def _plain(name: str, found: Any) -> FunctionType:
    """Return the function of Python behind a function, method or property, if its calls can be a place."""
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    elif isinstance(found, property):
        found = found.fget
    elif isinstance(found, functools.cached_property):
        found = found.func
    if isinstance(found, type):
        raise NotAPlace(f"{name} is a class: name one of its methods, such as {name}.__init__")
    marks = getattr(found, "__dict__", {})
    if loop_name(found) or INLINE in marks or MERGED in marks:
        kind = "a compiled loop" if loop_name(found) else "compiled into loops"
        raise NotAPlace(
            f"{name} is {kind}, and loops call it without Python: write delay({name.rsplit('.', 1)[-1]!r}) as its "
            "first line instead"
        )
    if not _is_plain(found):
        raise NotAPlace(
            f"{name} is a {type(found).__name__}, whose calls cannot be seen: only functions written in Python can be "
            "places; name the function that calls it, or enclose the call in factor(...)"
        )
    if inspect.isgeneratorfunction(found) or inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
        raise NotAPlace(
            f"{name} does not run when it is called: name a function that it calls, or use factor(...) inside"
        )
    return found  # type: ignore[no-any-return]


def _is_plain(function: Any) -> bool:
    return isinstance(function, FunctionType)
