"""Every way in which a processor can end, whatever the other processors are doing.

Times are bounded by ``HARD``, which allows for a busy computer; each case of the exit matrix records its time.  SIGINT
to a processor is ignored by design: Ctrl-C in a terminal reaches the whole process group, and the parent handles it.
"""

import contextlib
import itertools
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import loops
from support.loops import SIGNALS, Guilty, crash, fatal, fatal_thread, wait_for_ever, wait_on_a_cell, wrong
from support.machines import HARD, Machines, gone

import smp
from smp import errors
from smp._runtime.host import processes, worker, workers
from smp._runtime.host.pipe import Line
from smp._runtime.program.failures import CLOSED
from smp._runtime.protocols import stream_slots
from smp.errors import (
    Aborted,
    CollectiveMismatch,
    MachineClosed,
    MachineError,
    ProcessorDied,
    ProcessorRaised,
    ProgramError,
)

HERE, LOOPS = re.escape(__file__), re.escape(loops.__file__)
Record = Callable[[str, object], None]


@contextlib.contextmanager
def bounded(record: Record | None = None) -> Iterator[None]:
    """Check that the with block ends in time."""
    before = time.monotonic()
    yield
    seconds = time.monotonic() - before
    if record is not None:
        record("seconds", seconds)
    assert seconds < HARD


def told_once(error: BaseException, words: str) -> None:
    """Check that the printed error contains a text exactly once."""
    printed = "".join(traceback.format_exception(error))
    assert printed.count(words) == 1, printed


EXITS = ("return", "SIGINT", "exit", "raise", "_exit", *SIGNALS)
OTHERS = ("barrier", "waiting", "deaf", "copying", "cell", "cell in a loop")
PATIENT = ("waiting", "deaf", "cell", "cell in a loop")
"""Waits that the victim ends before it returns normally."""


def crossed(step: int, first: Sequence[str], second: Sequence[str]) -> list[Any]:
    """Return all pairs; all but each ``step``-th of a row or column are slow, so an ordinary run has each value."""
    pairs = itertools.product(enumerate(first), enumerate(second))
    return [pytest.param(a, b, marks=[pytest.mark.slow] * ((i + j) % step > 0)) for (i, a), (j, b) in pairs]


MARK = 'raise Guilty("because")'
KILL = "os.kill(os.getpid(), SIGNALS[how])"


def line_of(text: str) -> int:
    """Return the number of the only line, of the programs or of this file, that begins with the text."""
    lines = [*enumerate(Path(loops.__file__).read_text().splitlines(), start=1)]
    lines += enumerate(Path(__file__).read_text().splitlines(), start=1)
    return next(number for number, line in lines if line.lstrip().startswith(text))


@pytest.mark.parametrize("victims", ["one", pytest.param("each", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("how", "others"), crossed(3, EXITS, OTHERS))
def test_every_exit_is_reported_whatever_the_others_do(
    nothing_left: None, record_property: Record, how: str, others: str, victims: str
) -> None:
    """In an ordinary run a different processor ends from case to case, so that each of them does in some cases."""
    size = 2 if others == "deaf" else 3
    one = (EXITS.index(how) + OTHERS.index(others)) % size
    wait_for_ever(np.ones(1, np.int64), np.zeros(100, np.int64))  # loaded here once for forked processors
    if others == "cell in a loop":
        with smp.host(1) as machine:
            wait_on_a_cell(machine.cells(1, full=True))
    start = "fork" if others in ("waiting", "cell in a loop") else "forkserver"
    for victim in range(size) if victims == "each" else (one,):
        with smp.host(size, start=start) as machine:
            words, big, cells = machine.zeros(1, np.int64), machine.zeros(1 << 20), machine.cells(1)
            run = (fatal, how, victim, others, words, big, cells)
            with bounded(record_property):
                if how in ("return", "SIGINT") and others in PATIENT:
                    results = machine.run(*run).results
                    assert results[victim] == "returned"
                    assert results.count("went on") == size - 1
                    continue
                with pytest.raises(ProgramError) as caught:
                    machine.run(*run)
            error = caught.value
            check(error, how, victim, size)
            stubborn = [note for note in getattr(error, "__notes__", []) if "did not stop within 0.5 s" in note]
            assert len(stubborn) == (others == "deaf")
            if others != "deaf" and how in ("return", "SIGINT", "raise", "exit"):
                assert machine.run(lambda proc: proc.reduce(1)).results == [size] * size
            else:
                with pytest.raises(MachineClosed, match="this machine is closed: processor"):
                    machine.run(lambda proc: None)


def check(error: ProgramError, how: str, victim: int, size: int) -> None:
    """Check the class of the error and the names in its text."""
    said, who = str(error), f"processor {victim} of {size}"
    where = r"in the copy-in phase of superstep 1 \('war'\)"
    if how in ("return", "SIGINT"):
        assert type(error) is CollectiveMismatch
        assert f"processor {victim}: return from the program at {loops.__file__}" in said
        return
    assert error.rank == victim
    if how in ("raise", "exit"):
        assert type(error) is ProcessorRaised
        what = "Guilty: because" if how == "raise" else "SystemExit: 3"
        line = line_of(MARK if how == "raise" else "sys.exit(3)")
        assert re.fullmatch(rf"{who} raised {what} at {LOOPS}:{line}, {where}", said), said
        cause = error.__cause__
        assert isinstance(cause, Guilty if how == "raise" else SystemExit)
        assert cause.args == ("because",) if how == "raise" else cause.code == 3
        told_once(error, MARK if how == "raise" else "sys.exit(3)")
        assert f'File "{loops.__file__}", line {line}, in fatal' in error.remote_traceback
        return
    assert type(error) is ProcessorDied
    assert error.__cause__ is None
    if how == "_exit":
        what, line = r"ended with status 3, by os\._exit or inside a library", r"\d+"
    else:
        number = int(SIGNALS[how])
        hint = r" \(the kernel sends it when memory runs out: see its log\)" if how == "SIGKILL" else ""
        what = rf"was killed by {how} \({number}\){hint}"
        line = str(line_of("os.abort()" if how == "SIGABRT" else KILL))
    if how in ("_exit", "SIGKILL"):  # only the place where it was last seen is known
        line = r"\d+"
        assert error.remote_traceback == ""
    else:
        told_once(error, f'File "{loops.__file__}", line {line} in fatal')
    told = rf"{who} {what}; last seen at {LOOPS}:{line}, {where}{re.escape(CLOSED)}"
    assert re.fullmatch(told, said), said


@pytest.mark.parametrize(
    ("how", "others"), crossed(2, [*EXITS, "crash in a loop", "raise in a loop"], ["barrier", "cell"])
)
def test_an_exit_in_a_thread_is_reported(nothing_left: None, how: str, others: str) -> None:
    """One stream ends while another of its processor waits on a cell, and others wait on the cell or at a barrier."""
    died = {"_exit": r"ended with status 4, by os\._exit", "crash in a loop": r"was killed by SIGSEGV \(11\)"}
    died |= {name: rf"was killed by {name} \({int(number)}\)" for name, number in SIGNALS.items()}
    raised = {
        "raise": ("Guilty: in a thread", 'raise Guilty("in a thread")'),
        "exit": ("SystemExit: 4", "sys.exit(4)"),
        "raise in a loop": ("ValueError: in a loop", 'raise ValueError("in a loop")'),
    }
    with smp.host(3) as machine:
        words, cells = machine.zeros(1, np.int64), machine.cells(1)
        run = (fatal_thread, how, others, words, cells)
        if how in ("return", "SIGINT"):
            with bounded():
                assert machine.run(*run).results == ["went on"] * 3
        elif how in died:
            with bounded(), pytest.raises(ProcessorDied, match=f"processor 1 of 3 {died[how]}"):
                machine.run(*run)
        else:
            what, line = raised[how]
            with bounded(), pytest.raises(ProcessorRaised, match=f"processor 1 of 3 raised {what} at ") as caught:
                machine.run(*run)
            told_once(caught.value, line)
            assert f":{line_of(line)}" in str(caught.value)
            assert machine.run(lambda proc: proc.reduce(1)).results == [3, 3, 3]
            cells.writeef(0, 5)  # no waiter is left in its queue
            assert cells.peek(0) == (True, 5)


@pytest.mark.parametrize("asleep", [False, True])
def test_a_processor_killed_with_the_lock_of_a_cell_is_reported(nothing_left: None, asleep: bool) -> None:
    """The others come to the cell after that, or sleep in its queue, in compiled code and from Python."""

    def program(proc: smp.Processor, cells: smp.Cells) -> None:
        base = int(cells.counters()["traps"].sum())
        proc.barrier()
        if proc.rank == 0:
            while asleep and cells.counters()["traps"].sum() < base + 2:
                time.sleep(0.001)
            lock(cells)
            os.kill(os.getpid(), signal.SIGKILL)
        while not (asleep or locked(cells)):
            pass
        wait_on_a_cell(cells) if proc.rank == 1 else cells.readfe(0)

    with smp.host(3) as machine:
        cells = machine.cells(1)
        machine.run(lambda proc: wait_on_a_cell(proc.cells(1, full=True)))  # loaded before a processor fails
        with bounded(), pytest.raises(ProcessorDied, match="processor 0 of 3 was killed by SIGKILL"):
            machine.run(program, cells)


def lock(cells: smp.Cells) -> None:
    """Take the lock of cell 0, as a processor holds it in the middle of an operation."""
    words = np.asarray(cells._block).view(np.int64)
    cells.peek(0)
    words[0] |= stream_slots.LOCKED


def locked(cells: smp.Cells) -> bool:
    return bool(np.asarray(cells._block).view(np.int64)[0] & stream_slots.LOCKED)


@pytest.mark.parametrize("compiled", [False, True])
def test_cells_can_be_used_after_a_failure(nothing_left: None, compiled: bool) -> None:
    """The waiters have left their queues, whether they were being served at that moment or not."""

    def program(proc: smp.Processor, cells: smp.Cells, failing: bool) -> int:
        if proc.rank == 0:
            if failing:
                time.sleep(0.01)
                raise Guilty("because")
            cells.writeef(0, 7)
            return 7
        return int(wait_on_a_cell(cells) if compiled else cells.readff(0))

    with smp.host(3) as machine:
        cells = machine.cells(1)
        for _ in range(5):
            assert machine.run(program, cells, False).results == [7] * 3
            assert cells.purge(0) == 0
            with bounded(), pytest.raises(ProcessorRaised, match="processor 0 of 3 raised Guilty"):
                machine.run(program, cells, True)
            assert cells.peek(0) == (False, 0)


PHASES = ("before", "copy-in", "compute", "copy-out", "after")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("how", ["raise", "SIGKILL", "crash in a loop", "raise in a loop"])
def test_a_failure_is_reported_with_its_phase(nothing_left: None, how: str, phase: str) -> None:
    def end(words: Any) -> None:
        if how == "raise":
            raise Guilty("because")
        if how == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        (crash if how == "crash in a loop" else wrong)(words.view)

    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        def here(name: str) -> None:
            if proc.rank == 1 and name == phase:
                end(words)

        def writing(view: Any) -> int:
            here("copy-out")
            return 0

        here("before")
        with proc.superstep("one") as step:
            here("copy-in")
            step.compute()
            here("compute")
            step.copy_out_by(writing, words)
        here("after")

    with smp.host(2) as machine:
        words = machine.zeros(1, np.int64)
        with bounded(), pytest.raises(ProgramError) as caught:
            machine.run(program, words)
    said = str(caught.value)
    assert said.startswith("processor 1 of 2 ")
    kinds = {
        "raise": (ProcessorRaised, "raised Guilty: because"),
        "SIGKILL": (ProcessorDied, "was killed by SIGKILL (9)"),
        "crash in a loop": (ProcessorDied, "was killed by SIGSEGV (11)"),
        "raise in a loop": (ProcessorRaised, "raised ValueError: in a loop"),
    }
    assert type(caught.value) is kinds[how][0]
    assert kinds[how][1] in said
    assert re.search(rf"at {HERE}:\d+", said) or re.search(r"at .*loops.py:\d+", said), said
    if phase == "before":
        assert "superstep" not in said
    elif phase == "after":
        assert "after superstep 0 ('one')" in said
    else:
        assert f"in the {phase} phase of superstep 0 ('one')" in said


def test_writes_of_a_processor_that_returns_early_survive(pair: smp.Machine) -> None:
    array = pair.zeros(4)

    def program(proc: smp.Processor, early: int) -> None:
        with proc.superstep() as step:
            step.copy_out(array, proc.rank, proc.rank + 1)
        array.view[2 + proc.rank] = 5
        if proc.rank != early:
            proc.barrier()

    for early in range(2):
        array[:] = 0
        with bounded(), pytest.raises(CollectiveMismatch, match=f"processor {early}: return from the program at"):
            pair.run(program, early)
        assert array[:].tolist() == [1, 2, 5, 5]


def test_a_processor_killed_inside_a_barrier_is_reported(nothing_left: None) -> None:
    """It sleeps or spins in the barrier, in compiled code and from Python. Another waiter is woken at once."""
    from smp.compiled import barrier

    @smp.stream
    def meet(sync: Any) -> None:
        barrier(sync)

    def program(proc: smp.Processor, pids: smp.GlobalArray, compiled: bool) -> None:
        pids.view[proc.rank] = os.getpid()
        if proc.rank == 0:
            time.sleep(60)
        meet(proc.sync) if compiled else proc.barrier()

    for compiled in (False, True):
        for patience in (0.0, 0.05):
            with smp.host(3) as machine:
                pids = machine.zeros(3, np.int64)

                def kill(pids: smp.GlobalArray = pids, patience: float = patience) -> None:
                    while not pids[:].all():
                        time.sleep(0.001)
                    time.sleep(patience)
                    os.kill(int(pids[1]), signal.SIGKILL)

                killer = threading.Thread(target=kill)
                killer.start()
                with bounded(), pytest.raises(ProcessorDied, match="processor 1 of 3 was killed by SIGKILL"):
                    machine.run(program, pids, compiled)
                killer.join()


def test_the_lock_of_the_compiler_is_free_after_its_holder_was_killed(nothing_left: None) -> None:
    def program(proc: smp.Processor, turn: smp.GlobalArray) -> None:
        from smp._runtime.loops.machine_code import compile_lock

        if proc.rank == 0:
            with compile_lock("a loop"):
                turn.view[0] = 1
                while not turn.view[2]:
                    pass
                time.sleep(0.05)  # until the other processor waits for the lock
                os.kill(os.getpid(), signal.SIGKILL)
        while not turn.view[0]:
            pass
        turn.view[2] = 1
        with compile_lock("a loop"):
            turn.view[1] = 1
        proc.barrier()

    with smp.host(2) as machine:
        turn = machine.zeros(3)
        with bounded(), pytest.raises(ProcessorDied, match="processor 0 of 2 was killed by SIGKILL"):
            machine.run(program, turn)
        assert turn[1] == 1


def test_the_first_of_several_failures_is_reported(machines: Machines) -> None:
    """The other processors fail too, as a consequence, after they have noticed the abort."""

    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            raise Guilty("first")
        try:
            proc.barrier()
        finally:
            raise ValueError("a consequence")

    for _ in range(10):
        with pytest.raises(ProcessorRaised, match="processor 1 of 3 raised Guilty: first"):
            machines(3).run(program)


def test_a_mismatch_is_reported_although_programs_fail_because_of_it(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            try:
                proc.barrier()
            except Aborted:
                raise ValueError("a consequence") from None
        proc.gather(1)

    with pytest.raises(CollectiveMismatch, match="processor 1: gather at"):
        pair.run(program)


def test_a_program_cannot_swallow_an_abort(pair: smp.Machine) -> None:
    """It gets the abort again at the end, or at its next collective."""

    def program(proc: smp.Processor) -> str:
        if proc.rank == 0:
            raise Guilty("because")
        for _ in range(5):
            with contextlib.suppress(Aborted):
                proc.barrier()
        return "fine"

    with bounded(), pytest.raises(ProcessorRaised, match="processor 0 of 2 raised Guilty"):
        pair.run(program)
    assert pair.run(lambda proc: proc.reduce(1)).results == [2, 2]


class Custom(Exception):
    """An exception that takes other arguments than it keeps, so that unpickling it fails."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Sly(Exception):
    """An exception that is unpickled as another kind of object."""

    def __reduce__(self) -> Any:
        return (dict, ())


def with_a_lock() -> BaseException:
    return Guilty(threading.Lock())


STRANGE: dict[str, tuple[Callable[[], BaseException], str, type | None]] = {
    "other arguments": (lambda: Custom(1, 2), "raised Custom: 1 and 2 at", None),
    "no text": (Mute, r"raised Mute: \(making its text raises RuntimeError\) at", Mute),
    "not an exception any more": (Sly, "raised Sly at", None),
    "a lock inside": (with_a_lock, "raised Guilty: <unlocked _thread.lock object at 0x.*> at", None),
    "KeyboardInterrupt": (KeyboardInterrupt, "raised KeyboardInterrupt at", KeyboardInterrupt),
    "GeneratorExit": (GeneratorExit, "raised GeneratorExit at", GeneratorExit),
    "exit with a text": (lambda: SystemExit("so long"), "raised SystemExit: so long at", SystemExit),
    "memory": (MemoryError, "raised MemoryError at", MemoryError),
    "group": (
        lambda: ExceptionGroup("several", [ValueError(1), KeyError(2)]),
        r"raised ExceptionGroup: several \(2 sub-exceptions\) at",
        ExceptionGroup,
    ),
    "long": (lambda: ValueError("x" * 1_000_000), "raised ValueError: xxx", ValueError),
    "no exception of ours": (lambda: errors.PhaseError("mine"), "raised PhaseError: mine at", errors.PhaseError),
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_exceptions_are_reported(pair: smp.Machine, what: str) -> None:
    make, text, kind = STRANGE[what]

    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            raise make()
        proc.barrier()

    with bounded(), pytest.raises(ProcessorRaised, match=f"processor 1 of 2 {text}") as caught:
        pair.run(program)
    cause = caught.value.__cause__
    assert cause is None if kind is None else type(cause) is kind
    assert "raise make()" in caught.value.remote_traceback
    assert pair.run(lambda proc: proc.reduce(1)).results == [2, 2]


def test_an_exception_that_only_the_processors_know_is_reported(pair: smp.Machine) -> None:
    """Its class comes from a module that the processors made themselves."""

    def program(proc: smp.Processor) -> None:
        import types

        made = types.ModuleType("made_up")
        exec("class Unknown(Exception):\n    pass", made.__dict__)
        sys.modules["made_up"] = made
        raise made.Unknown("who am I")

    with pytest.raises(ProcessorRaised, match="raised Unknown: who am I") as caught:
        pair.run(program)
    assert caught.value.__cause__ is None


def test_the_chain_of_an_exception_is_shown(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        try:
            int("three")
        except ValueError as error:
            raise Guilty("outer") from error

    with pytest.raises(ProcessorRaised) as caught:
        pair.run(program)
    trace = caught.value.remote_traceback
    assert "invalid literal for int() with base 10: 'three'" in trace
    assert "direct cause of the following exception" in trace
    assert "smp/_runtime" not in trace  # the runtime's own frames mean nothing to the user
    told_once(caught.value, 'int("three")')


def test_endless_recursion_is_reported(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> int:
        def deeper(n: int) -> int:
            return deeper(n + 1) + 1

        return deeper(0)

    with bounded(), pytest.raises(ProcessorRaised, match="raised RecursionError: maximum recursion depth") as caught:
        pair.run(program)
    assert isinstance(caught.value.__cause__, RecursionError)
    assert len(caught.value.remote_traceback) < 10_000


def test_the_line_is_the_users_not_the_librarys(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        import json

        json.loads("{")  # this line

    line = line_of('json.loads("{")  # this line')
    with pytest.raises(ProcessorRaised, match=rf"raised JSONDecodeError: .* at {HERE}:{line}\n") as caught:
        pair.run(program)
    assert "decoder.py" in caught.value.remote_traceback


def test_a_stack_overflow_is_reported(nothing_left: None) -> None:
    """The crash leaves its handler no stack except the one of its own."""

    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            sys.setrecursionlimit(10**9)

            class Endless:
                def __repr__(self) -> str:
                    return repr([self])

            repr(Endless())
        proc.barrier()

    with smp.host(2) as machine, bounded(), pytest.raises(ProgramError, match="processor 0 of 2 "):
        machine.run(program)


@pytest.mark.parametrize("lowest", [3, 0])
def test_a_program_that_closes_all_descriptors_is_reported(nothing_left: None, lowest: int) -> None:
    def program(proc: smp.Processor, early: bool) -> int:
        files = []
        if proc.rank == 1:
            os.closerange(lowest, 1000)
            files = [os.open(os.devnull, os.O_RDWR) for _ in range(10)]  # these get the same numbers
        if proc.rank == 0 or not early:
            proc.barrier()
        return len(files)

    with smp.host(2) as machine, bounded(), pytest.raises(ProcessorDied, match="processor 1 of 2 "):
        machine.run(program, False)
    with smp.host(2) as machine, bounded(), pytest.raises(ProgramError, match="processor 1"):
        machine.run(program, True)
    assert "closed" in repr(machine)


def test_a_program_that_writes_into_our_sockets_is_killed(nothing_left: None) -> None:
    def program(proc: smp.Processor) -> None:
        for fd in range(3, 30):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                    os.write(fd, b"\xff" * 1000)

    with (
        smp.host(2) as machine,
        bounded(),
        pytest.raises(ProcessorDied, match=r"processor [01] of 2 was killed by SIG"),
    ):
        machine.run(program)


FORKS: dict[str, Callable[[], Any]] = {
    "returns": lambda: "child",
    "raises": lambda: 1 // 0,
    "exits": lambda: sys.exit(3),
    "stays": lambda: time.sleep(0.3),
}


@pytest.mark.parametrize("what", FORKS)
def test_only_the_processor_answers_when_a_program_forks(
    nothing_left: None, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The child returns from the program too, but only the processor itself answers."""
    act = FORKS[what]

    def program(proc: smp.Processor) -> Any:
        child = os.fork()
        if child == 0:
            return act()
        if what != "stays":
            os.waitpid(child, 0)
        proc.barrier()
        return "processor", child

    with smp.host(2) as machine:
        results = machine.run(program).results
        assert [result[0] for result in results] == ["processor"] * 2
        assert machine.run(lambda proc: proc.reduce(1)).results == [2, 2]
    assert all(gone(child) for _, child in results)
    assert ("ZeroDivisionError" in capfd.readouterr().err) == (what == "raises")


def test_a_processor_with_a_running_thread_ends_with_its_machine(nothing_left: None) -> None:
    def program(proc: smp.Processor) -> int:
        threading.Thread(target=time.sleep, args=(60,)).start()
        return os.getpid()

    with smp.host(2) as machine:
        pids = machine.run(program).results
        before = time.monotonic()
    assert time.monotonic() - before < HARD
    assert all(gone(pid) for pid in pids)


def test_a_stopped_processor_ends_with_its_machine(nothing_left: None) -> None:
    """A stopped process does not answer, not even to a close, but ends like any other."""
    with smp.host(2) as machine:
        os.kill(machine.run(lambda proc: os.getpid()).results[0], signal.SIGSTOP)
        before = time.monotonic()
    assert time.monotonic() - before < HARD


def test_the_death_of_an_idle_processor_is_reported(nothing_left: None) -> None:
    for after_a_run in (False, True):
        with smp.host(2) as machine:
            pids = machine.zeros(2, np.int64)

            def program(proc: smp.Processor, pids: smp.GlobalArray) -> None:
                pids.view[proc.rank] = os.getpid()
                with proc.superstep("of the run before"):
                    pass

            machine.run(program, pids)
            if after_a_run:
                with pytest.raises(ProcessorRaised):
                    machine.run(lambda proc: 1 // 0)
            os.kill(int(pids[1]), signal.SIGKILL)
            assert gone(int(pids[1]))
            with (
                bounded(),
                pytest.raises(
                    ProcessorDied, match=r"processor 1 of 2 was killed by SIGKILL .*; it was idle; the machine"
                ),
            ):
                machine.run(lambda proc: proc.barrier())


def sending(machine: smp.Machine) -> None:
    while True:
        machine.run(lambda proc: np.zeros(100_000_000, np.uint8) if proc.rank else None)


def test_a_processor_killed_while_it_sends_a_large_result_is_reported(nothing_left: None) -> None:
    """It is killed at any point of the message. The parent never waits for the rest of one."""
    for k in range(8):
        with smp.host(2) as machine:
            pids = machine.run(lambda proc: os.getpid()).results
            killer = threading.Timer(0.01 + 0.015 * k, os.kill, (pids[1], signal.SIGKILL))
            killer.start()
            with bounded(), pytest.raises(ProcessorDied, match="processor 1 of 2 was killed by SIGKILL"):
                sending(machine)
            killer.join()


def test_a_line_takes_whole_messages_and_never_waits() -> None:
    import pickle
    import socket

    ours, theirs = socket.socketpair()
    line, data = Line(ours), pickle.dumps({"a": 1})
    message = len(data).to_bytes(8, "little") + data
    assert line.take() is None
    for octet in message[:-1]:
        theirs.send(bytes([octet]))
        assert line.take() is None
    theirs.send(message[-1:] + message[:5])
    assert line.take() == {"a": 1}
    assert line.take() is None
    theirs.close()
    with pytest.raises(EOFError):
        line.take()
    line.close()
    other, far = socket.socketpair()
    with other, far:
        garbled = Line(other)
        far.send(b"\xff" * 8)
        with pytest.raises((MemoryError, OverflowError)):
            garbled.take()


def test_a_crash_is_located_in_its_own_thread_whatever_others_do(nothing_left: None) -> None:
    """Other threads are not listed: while they run, their stacks may change, and end the handler too early."""

    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        threading.Thread(target=threading.Event().wait, args=(60,), daemon=True).start()
        crash(words.view)

    with smp.host(1) as machine, bounded(), pytest.raises(ProcessorDied) as caught:
        machine.run(program, machine.zeros(1, np.int64))
    (note,) = caught.value.__notes__
    assert "Segmentation fault" in note
    assert "test_faults.py" in note
    assert "threading.py" not in note


def test_a_processor_that_does_not_start_is_reported(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """This is noticed at once, not when the time allowed for slow starts is over."""
    send = processes.WorkerProcesses.send

    def spoiled(self: processes.WorkerProcesses, rank: int, message: Any) -> None:
        send(self, rank, {"rank": 1} if rank == 1 and isinstance(message, dict) else message)

    monkeypatch.setattr(processes.WorkerProcesses, "send", spoiled)
    with (
        bounded(),
        pytest.raises(
            MachineError, match=r"did not start: processor 1 of 3 ended with status 1, .*; last seen at its start; the"
        ) as caught,
    ):
        smp.host(3)
    assert isinstance(caught.value.__cause__, ProcessorDied)
    assert "KeyError" in capfd.readouterr().err


def test_a_processor_that_ends_slowly_is_reported_with_its_own_status(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line stays open until it ends: the parent kills a processor whose line has ended."""
    send, leave = processes.WorkerProcesses.send, worker.leave

    def spoiled(self: processes.WorkerProcesses, rank: int, message: Any) -> None:
        send(self, rank, {"rank": 0} if isinstance(message, dict) else message)

    def slowly(status: int) -> None:
        time.sleep(0.3)
        leave(status)

    monkeypatch.setattr(processes.WorkerProcesses, "send", spoiled)
    monkeypatch.setattr(worker, "leave", slowly)  # a forked worker has it, too
    with bounded(), pytest.raises(MachineError, match="did not start: processor 0 of 1 ended with status 1, "):
        smp.host(1, start="fork")


def test_a_processor_that_takes_too_long_to_start_is_killed(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "START", 0.1)
    monkeypatch.setattr(processes.WorkerProcesses, "send", lambda *_: None)
    with bounded(), pytest.raises(MachineError, match="processor 0 of 2 did not answer and was killed"):
        smp.host(2)


@pytest.mark.parametrize("start", ["forkserver", "spawn"])
def test_an_interpreter_that_does_not_start_is_reported(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch, start: str, tmp_path: Path
) -> None:
    from smp._runtime.host import launcher

    monkeypatch.setattr(launcher, "_roots", {})
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with bounded(), pytest.raises(MachineError, match="the process that starts the processors"):
        smp.host(1, start=start)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with bounded(), pytest.raises(MachineError, match="1 processors cannot be started: No such file or directory"):
        smp.host(1, start=start)


def test_the_tree_of_errors_is_as_documented() -> None:
    """The tree is drawn in the module, and an error also derives from the builtin class that fits."""
    tree = {
        "MachineError": ("SmpError",),
        "MachineClosed": ("MachineError",),
        "OutOfSharedMemory": ("MachineError", "MemoryError"),
        "ProgramError": ("SmpError",),
        "ProcessorRaised": ("ProgramError",),
        "ProcessorDied": ("ProgramError",),
        "CollectiveMismatch": ("ProgramError",),
        "DeadlockError": ("ProgramError",),
        "LivelockError": ("ProgramError",),
        "NotPicklable": ("SmpError", "TypeError"),
        "PhaseError": ("SmpError",),
        "WaitTimeout": ("SmpError", "TimeoutError"),
        "ScheduleError": ("SmpError", "ValueError"),
        "CheckFailed": ("SmpError", "AssertionError"),
        "Aborted": ("SmpError",),
        "Unsupported": ("SmpError",),
        "ProfileError": ("SmpError",),
        "FitError": ("SmpError", "ValueError"),
        "InvalidList": ("SmpError", "ValueError"),
    }
    for name, bases in tree.items():
        assert tuple(base.__name__ for base in getattr(errors, name).__bases__) == bases
        assert re.search(rf"── {name}\b", errors.__doc__ or "")
    error = ProgramError("text", 3, "trace")
    assert (str(error), error.rank, error.remote_traceback) == ("text", 3, "trace")


def test_errors_can_be_pickled(pair: smp.Machine) -> None:
    """A program may catch an error of its own machine and return it."""
    import pickle

    with pytest.raises(ProcessorRaised) as caught:
        pair.run(lambda proc: 1 // 0)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert (copy.rank, copy.remote_traceback) == (caught.value.rank, caught.value.remote_traceback)
