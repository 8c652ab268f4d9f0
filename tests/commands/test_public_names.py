"""The public names of ``smp``, and the errors that advise users when an object cannot be used."""

import inspect
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.machines import Emulated, Machines

import smp
from smp import compiled, errors
from smp._runtime.memory.cells import Cells


def test_every_error_can_be_imported_from_smp() -> None:
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, Exception):
            assert getattr(smp, name) is kind
            assert name in smp.__all__


def test_the_directory_of_smp_lists_its_public_names() -> None:
    assert dir(smp) == sorted(smp.__all__)
    for name in dir(smp):
        assert getattr(smp, name) is not None


def test_the_directory_is_complete_before_numba_or_scipy_is_imported() -> None:
    code = "import smp, sys; print(dir(smp) == sorted(smp.__all__), 'numba' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False False\n"


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines, emulated: Emulated) -> smp.Machine:
    return machines(2) if request.param == "host" else emulated(2)


@smp.stream
def length(cells: Cells) -> int:
    return len(cells)


@smp.stream
def count_full(cells: Cells) -> int:
    full = 0
    for i in range(len(cells)):
        full += compiled.peek(cells, i)[0]
    return full


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_])
def test_loops_know_the_number_of_cells(machine: smp.Machine, dtype: type) -> None:
    for n, padded in ((0, False), (5, False), (7, True)):
        cells = machine.cells(n, dtype, full=True, padded=padded)
        run = machine.run(lambda proc, cells: (length(cells), count_full(cells)), cells)
        assert run.results == [(n, n)] * 2


@smp.stream
def increase(array: Any) -> int:
    return compiled.fetch_add(array, 0, 1)


@smp.local
def total(array: Any, scale: int = 1) -> int:
    s = 0
    for value in array:
        s += value * scale
    return s


@pytest.mark.parametrize("loop", [increase, total, lambda array: total(np.arange(3), scale=array)])
def test_the_error_of_a_loop_that_is_given_a_global_array_recommends_its_view(machine: smp.Machine, loop: Any) -> None:
    with pytest.raises(
        smp.ProcessorRaised, match=r"the loop '\w+' cannot work on a GlobalArray: .* array\.view"
    ) as caught:
        machine.run(lambda proc, array: loop(array), machine.zeros(3, np.int64))
    assert isinstance(caught.value.__cause__, TypeError)
    assert machine.run(lambda proc, array: increase(array.view) >= 0, machine.zeros(3, np.int64)).results == [True] * 2


OPERATORS: list[Callable[[Any], Any]] = [
    *(lambda a, op=op: op(a, 2) for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)),
    *(lambda a, op=op: op(2, a) for op in (operator.add, operator.mod, operator.floordiv, operator.and_, operator.xor)),
    *(lambda a, op=op: op(a, a) for op in (operator.matmul, operator.or_, operator.lt, operator.ge)),
    operator.neg,
    lambda a: operator.iadd(a, 1),
]


@pytest.mark.parametrize("operation", OPERATORS)
def test_the_error_of_arithmetic_on_a_global_array_recommends_copies(machine: smp.Machine, operation: Any) -> None:
    array = machine.zeros(3, np.int64)
    with pytest.raises(TypeError, match=r"a global array has no operator .*step\.copy_in.*array\[:\]"):
        operation(array)
    with pytest.raises(smp.ProcessorRaised, match="a global array has no operator"):
        machine.run(lambda proc, array: operation(array), array)
    assert np.sum(array) == 0  # NumPy's functions can read it in the parent
