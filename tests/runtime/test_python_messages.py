"""Numbers between Python and the rings: values, types, what is refused, and that no object is lost or kept."""

import math
import struct
import sys
import threading
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.machines import Machines
from support.sampled import examples

import smp
from smp._runtime.loops import objects
from smp._runtime.program.messages.network import FULL, OTHER, POSTED

numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.sampled_from([0, -1, 2**63 - 1, -(2**63)]))


def bits(args: Any) -> list[tuple[type, bytes]]:
    """Return types and bits, by which also numbers that are not equal to themselves are compared."""
    return [(type(arg), struct.pack("d" if isinstance(arg, float) else "q", arg)) for arg in args]


def echoed(proc: smp.Processor, rows: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Send rows of numbers to the own processor, by the quick way only; return what comes, and what each send says."""
    came: list[tuple[Any, ...]] = []
    note = proc.handler(lambda message, *args: came.append(args))
    network, status = proc._port.network, []
    for row in rows:
        status.append(network.send_numbers(3, proc.rank, note.head, row))
        proc.poll()
    return came, status


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(st.lists(numbers, max_size=7).map(tuple), max_size=8))
@example(rows=[(math.nan, -0.0, math.inf, -1, 2**63 - 1, -(2**63), 5e-324), (), (-1,)])
def test_numbers_arrive_with_their_types_and_bits(machines: Machines, rows: list[tuple[Any, ...]]) -> None:
    ((came, status),) = machines(1).run(echoed, rows).results
    assert status == [POSTED] * len(rows)
    assert [bits(row) for row in came] == [bits(row) for row in rows]


def test_everything_else_is_left_to_the_caller(machines: Machines) -> None:
    rows = [(True,), (2**63,), (-(2**63) - 1, 1), ("a",), (None,), (np.int64(1),), (np.float64(1),), (1,) * 8, ([1],)]
    ((came, status),) = machines(1).run(echoed, rows).results
    assert came == []
    assert status == [OTHER] * len(rows)


def test_wrong_processors_and_heads_are_left_to_the_caller(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        send = proc._port.network.send_numbers
        wrong: list[tuple[Any, Any]] = [(1, 0), (-1, 0), (1.5, 0), ("0", 0), (2**64, 0), (0, None)]
        return [send(3, to, head, (1,)) for to, head in wrong]

    assert machines(1).run(program).results == [[OTHER] * 6]


def test_another_thread_may_not_send(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        send, found = proc._port.network.send_numbers, []
        thread = threading.Thread(target=lambda: found.append(send(3, 0, 0, (1,))))
        thread.start()
        thread.join()
        return found

    assert machines(1).run(program).results == [[OTHER]]


def test_no_room_is_reported(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        note = proc.handler(lambda message, k: None)
        return sorted({proc._port.network.send_numbers(1, 0, note.head, (k,)) for k in range(100)})

    assert machines(1).run(program).results == [[FULL, POSTED]]


def test_no_object_is_lost_or_kept(machines: Machines) -> None:
    """An object that is counted once too often is never freed, and once too seldom is freed while it is in use."""

    def program(proc: smp.Processor) -> int:
        note = proc.handler(lambda message, *args: None)

        def some(count: int) -> None:
            for k in range(count):
                proc.send(proc.rank, note, k + 1000, 0.5 * k, 1 << 60)
                proc.send(proc.rank, note, "text", k)
                proc.poll()
                proc.poll()

        some(100)
        before = sys.getallocatedblocks()
        some(20_000)
        return sys.getallocatedblocks() - before

    assert abs(machines(1).run(program).results[0]) < 2_000


def test_the_functions_of_the_interface_in_python() -> None:
    number, real, pair = 12_345_678, 2.5, (1, 2.0)
    assert objects.integer_of(id(number)) == number
    assert objects.float_of(id(real)) == real
    assert objects.length_of(id(pair)) == 2
    assert objects.item_of(id(pair), 1) == id(pair[1])
    assert objects.thread() == threading.get_ident()
    assert not objects.failed()


def test_an_emulated_machine_has_no_quick_way() -> None:
    with smp.emulated(1) as machine:
        assert machine.run(echoed, [(1, 2)]).results == [([], [OTHER])]
