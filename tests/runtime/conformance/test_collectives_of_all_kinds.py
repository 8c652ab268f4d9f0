"""Barrier and collectives on all kinds of machines, and the errors of processors that disagree on them."""

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import CollectiveMismatch, ProcessorRaised, WaitTimeout

Machines = Callable[[int], smp.Machine]


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_collectives_combine_the_values_of_all_processors(machines: Machines, processors: int) -> None:
    numbers = np.random.default_rng(1).standard_normal((processors, 4)) * 10.0 ** np.arange(processors)[:, None]

    def program(proc: smp.Processor) -> Any:
        mine = numbers[proc.rank]
        return (
            proc.reduce(mine),
            proc.scan(mine, np.multiply),
            proc.gather({"rank": proc.rank}),
            proc.broadcast(b"x" * 200_000 + bytes([proc.rank]), root=proc.size - 1),
            proc.reduce(proc.rank, np.maximum),
        )

    run = machines(processors).run(program)
    folded = functools.reduce(np.add, numbers)
    for rank, (total, product, gathered, sent, most) in enumerate(run.results):
        assert total.tobytes() == folded.tobytes()  # bit for bit, in the order of the ranks
        assert product.tobytes() == functools.reduce(np.multiply, numbers[: rank + 1]).tobytes()
        assert gathered == [{"rank": other} for other in range(processors)]
        assert sent == b"x" * 200_000 + bytes([processors - 1])
        assert most == processors - 1


@pytest.mark.parametrize("processors", [1, 2, 3, 4])
def test_votes_are_counted(machines: Machines, processors: int) -> None:
    """Every vote of the processors, in so many rounds that each word of a barrier is used again and again."""
    cases = [[bool(mask >> rank & 1) for rank in range(processors)] for mask in range(1 << processors)] * 2

    def program(proc: smp.Processor) -> Any:
        mine = [case[proc.rank] for case in cases]
        return [(proc.any(x), proc.all(np.bool_(x)), proc.count(int(x))) for x in mine]

    expected = [(any(case), all(case), sum(case)) for case in cases]
    assert machines(processors).run(program).results == [expected] * processors


@pytest.mark.parametrize("what", ["any", "all", "count"])
def test_an_array_has_no_vote(machines: Machines, what: str) -> None:
    with pytest.raises(ProcessorRaised, match=rf"proc.{what} takes one truth value, not an array of shape \(3,\)"):
        machines(2).run(lambda proc: getattr(proc, what)(np.zeros(3)))


def stepping(label: str) -> Callable[[smp.Processor], None]:
    def program(proc: smp.Processor) -> None:
        with proc.superstep(label):
            pass

    return program


MISMATCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, str]] = {
    "kind": (lambda p: p.barrier(), lambda p: p.reduce(1), "barrier", "reduce(add) of int64[]"),
    "vote": (lambda p: p.any(True), lambda p: p.all(True), "any", "all"),
    "shape": (
        lambda p: p.reduce(np.zeros(3)),
        lambda p: p.reduce(np.zeros(4)),
        "reduce(add) of float64[3]",
        "reduce(add) of float64[4]",
    ),
    "root": (lambda p: p.broadcast(1, 0), lambda p: p.broadcast(1, 1), "broadcast(root=0)", "broadcast(root=1)"),
    "return": (lambda p: None, lambda p: p.barrier(), "return from the program", "barrier"),
    "superstep": (stepping("left"), stepping("right"), "copy-in of superstep 'left'", "copy-in of superstep 'right'"),
}


@pytest.mark.parametrize("what", MISMATCHES)
def test_collectives_that_do_not_match_are_reported_with_all_processors(machines: Machines, what: str) -> None:
    machine, (mine, others, said, said_by_others) = machines(3), MISMATCHES[what]

    def program(proc: smp.Processor) -> None:
        (mine if proc.rank == 2 else others)(proc)

    with pytest.raises(CollectiveMismatch) as caught:
        machine.run(program)
    first, *lines, last = str(caught.value).splitlines()
    assert first == "the processors do not take part in the same collective:"
    assert last.startswith("all must call the same collectives, in the same order")
    assert len(lines) == 3
    for rank, line in enumerate(lines):
        assert line.startswith(f"  processor {rank}: {said if rank == 2 else said_by_others} at {__file__}:"), line
    assert machine.run(lambda proc: proc.reduce(1)).results == [3] * 3


def test_a_barrier_that_has_timed_out_can_be_entered_again(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        if proc.rank == 0:
            proc.broadcast(0)
            proc.barrier()
        else:
            proc.broadcast(0)
            try:
                proc.barrier(timeout=0)
            except WaitTimeout:
                proc.barrier()
        return proc.reduce(proc.rank)

    def late(proc: smp.Processor) -> Any:
        try:
            proc.barrier(timeout=0) if proc.rank else time.sleep(0.05)
        except WaitTimeout as error:
            found = str(error)
            with pytest.raises(WaitTimeout, match="'barrier'"):
                proc.gather(0)
            proc.barrier()
            return found
        proc.barrier() if proc.rank == 0 else None
        return ""

    assert machines(3).run(program).results == [3] * 3
    found = [text for text in machines(2).run(late).results if text]
    assert all(text.startswith("processor 1 waited 0 s at 'barrier' and not all of the 2 processors") for text in found)


def test_a_thousand_broadcasts_from_roots_in_turn_come_in_order(machines: Machines) -> None:
    """Receivers are delayed at random; each gets each value."""

    def program(proc: smp.Processor) -> list[int]:
        draw, found, tickets = random.Random(proc.rank), [], []
        for k in range(1000):
            value = k if proc.rank == k % 3 else None
            if draw.random() < 0.5:
                if len(tickets) == 3:
                    found.append(tickets.pop(0).wait())
                tickets.append(proc.split.broadcast(value, k % 3))
            else:
                found += [ticket.wait() for ticket in tickets]
                tickets = []
                found.append(proc.broadcast(value, k % 3))
            if draw.random() < 0.02:
                time.sleep(1e-4)
        return found + [ticket.wait() for ticket in tickets]

    assert machines(3).run(program).results == [list(range(1000))] * 3


@pytest.mark.parametrize("dtype", ["b1", "i2", "u8", "f4", "f8", "c16", "M8[s]", [("a", "i4"), ("b", "f8")]])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (2, 3, 4), (200, 300)])
def test_arrays_of_any_dtype_and_shape_are_broadcast(machines: Machines, dtype: Any, shape: tuple[int, ...]) -> None:
    given = np.arange(np.prod(shape, dtype=int)).astype("i8").reshape(shape).astype(dtype)

    def program(proc: smp.Processor) -> tuple[Any, ...]:
        mine = given.copy(order="F") if proc.rank == 1 else None
        got, every = proc.broadcast(mine, 1), proc.gather(given)
        out = np.empty_like(given)
        assert proc.broadcast(mine, 1, out=out) is out
        return tuple((str(x.dtype), x.shape, x.tobytes()) for x in (got, out, *every))

    expected = (str(given.dtype), given.shape, given.tobytes())
    assert machines(2).run(program).results == [(expected,) * 4] * 2


@pytest.mark.parametrize(
    ("value", "out", "said"),
    [
        (np.zeros(3), np.zeros(4), r"array of float64\[4\], but the value that came is float64\[3\]"),
        (np.zeros(3), np.zeros(3, "f4"), r"array of float32\[3\], but the value that came is float64\[3\]"),
        ("text", np.zeros(3), "but the value that came is a str"),
        (np.zeros(3), [0, 0, 0], "out= of broadcast must be a writeable NumPy array, not list"),
    ],
)
def test_a_broadcast_that_does_not_fit_out_is_refused(machines: Machines, value: Any, out: Any, said: str) -> None:
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(lambda proc, out: proc.broadcast(value, out=out), out)


def test_a_collective_that_was_refused_leaves_no_trace(machines: Machines) -> None:
    """Processor 0 is refused a gather and a reduction after a timeout, and the next ones bring what they should."""

    def program(proc: smp.Processor) -> Any:
        gone: list[int] = []
        go = proc.handler(lambda message: gone.append(1))
        if proc.rank == 0:
            with pytest.raises(WaitTimeout):
                proc.barrier(timeout=0.01)
            for call in (lambda: proc.gather("lost"), lambda: proc.reduce(99), lambda: proc.split.reduce(99)):
                with pytest.raises(WaitTimeout, match="timed out at 'barrier'"):
                    call()
            proc.send(1, go)
        else:
            proc.wait_until(lambda: gone)
        proc.barrier()
        return [(proc.gather((proc.rank, k)), proc.reduce(k + proc.rank)) for k in range(8)]

    expected = [([(0, k), (1, k)], 2 * k + 1) for k in range(8)]
    assert machines(2).run(program).results == [expected] * 2
