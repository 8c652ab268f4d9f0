"""Functions that compiled code calls are compiled once, whatever calls them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from smp._runtime.loops import compiler, machine_code
from smp._runtime.loops.compiler import inline, merged


def calling() -> Callable[[int], int]:
    """Return a new function that calls another one itself, through a third, and through one that is always inlined."""

    @inline
    def innermost(k: int) -> int:
        return k * 3

    @inline
    def between(k: int) -> int:
        return innermost(k) + 1

    @merged
    def always(k: int) -> int:
        return innermost(k) + between(k)

    def outermost(k: int) -> int:
        return innermost(k) + between(k) + always(k)

    return outermost


def of_a_loop(function: Callable[[int], int]) -> None:
    assert machine_code.dispatcher(function)(5) == 15 + 16 + 31


def of_an_entry(function: Callable[[int], int]) -> None:
    assert compiler.object_code(function, 1)


@pytest.mark.parametrize("made", [of_a_loop, of_an_entry])
def test_a_function_is_compiled_once(made: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.numba()
    from numba.core import caching, event

    monkeypatch.setattr("smp._runtime.loops.with_numba.cache.Kept", lambda *_: caching.NullCache())
    with event.install_recorder("numba:compile") as recorder:
        made(calling())
    names = Counter(
        each.data["dispatcher"].py_func.__name__ for _, each in recorder.buffer if each.status is event.EventStatus.END
    )
    del names["outermost"]  # an entry point is compiled without a dispatcher
    assert names == {"innermost": 1, "between": 1, "always": 1}
