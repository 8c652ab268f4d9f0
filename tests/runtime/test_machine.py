"""Opening, using and closing machines: all ways to write a program, to start processors, and to interrupt them."""

import contextlib
import errno
import functools
import math
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from support.machines import HARD, ROOT, Machines, Script, descriptors, gone, processes, segments
from support.sampled import each

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.host import launcher
from smp._runtime.program.pickling import LargeCallWarning
from smp.errors import MachineClosed, MachineError, NotPicklable, ProcessorDied, ProcessorRaised

STARTS = ("forkserver", "spawn", "fork")
QUICK_STARTS = ("forkserver", pytest.param("spawn", marks=pytest.mark.slow), "fork")
"""A fresh interpreter for each processor takes most of a second, so fewer tests start them in the ordinary run."""
CPUS = usable_cpus()


@pytest.fixture(params=QUICK_STARTS)
def started(request: pytest.FixtureRequest, machines: Machines) -> smp.Machine:
    """A machine of two processors for each start method."""
    return machines(2, start=request.param)


class Callables:
    """Programs that are not plain functions."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def method(self, proc: smp.Processor, x: int) -> int:
        return self.factor * x + proc.rank

    def __call__(self, proc: smp.Processor, x: int) -> int:
        return self.method(proc, x)


def test_every_way_to_write_a_program_works(started: smp.Machine) -> None:
    factor = 10

    def closure(proc: smp.Processor, x: int) -> int:
        return factor * x + proc.rank

    def recursive(proc: smp.Processor, x: int) -> int:
        return 10 + recursive(proc, x - 1) if x else proc.rank

    class Local:
        def program(self, proc: smp.Processor, x: int) -> int:
            return closure(proc, x)

    programs: list[Callable[..., Any]] = [
        lambda proc, x: 10 * x + proc.rank,
        closure,
        recursive,
        Local().program,
        Callables(10),
        Callables(10).method,
        functools.partial(closure, x=3),
        functools.partial(lambda scale, proc, x: scale * x + proc.rank, 10),
    ]
    for program in programs:
        args = () if isinstance(program, functools.partial) and program.keywords else (3,)
        assert started.run(program, *args).results == [30, 31], program
    assert started.run(closure, x=2).results == [20, 21]
    assert started.run(lambda proc, *, program, self: program + self, program=1, self=2).results == [3, 3]
    assert started.run(repr).results == ["<processor 0 of 2>", "<processor 1 of 2>"]


def test_every_kind_of_argument_and_result_is_sent(started: smp.Machine) -> None:
    values = [None, 1, "ü", b"\0", 2.5, {"a": [1, (2, 3)]}, np.arange(5), np.float32(1), {1, 2}, slice(1, 2), range(3)]
    array = started.array([1, 2, 3])

    def program(proc: smp.Processor, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs, lambda x: x + proc_free

    proc_free = 5
    for args, kwargs, function in started.run(program, *values, array=array).results:
        np.testing.assert_equal(list(args), values)
        assert np.shares_memory(kwargs["array"].view, array.view)
        assert function(1) == 6


def test_arguments_and_results_may_be_larger_than_a_socket_holds(pair: smp.Machine) -> None:
    """Send 200 MB of arguments, twice 30 MB of results, and calls with lengths around that of a short one."""
    data = np.arange(25_000_000)
    with pytest.warns(LargeCallWarning, match="copies 200 MB"):
        assert pair.run(lambda proc, a: int(a[:: 1 << 20].sum()), data).results == [int(data[:: 1 << 20].sum())] * 2
    results = pair.run(lambda proc: np.full(30_000_000, proc.rank, np.uint8)).results
    assert [int(part.sum()) for part in results] == [0, 30_000_000]
    for length in range((1 << 14) - 800, (1 << 14) + 100, 50):
        assert pair.run(lambda proc, data: len(data), bytes(length)).results == [length] * 2


def test_definitions_in_main_count_at_the_next_run(started: smp.Machine) -> None:
    """As in a notebook, cells run in __main__, one after the other, and define functions later or again."""
    main = sys.modules["__main__"]
    before = dict(vars(main))
    shell: dict[str, Any] = vars(main)
    try:
        exec("scale = 2\ndef helper(x):\n    return scale * x", shell)
        exec("def program(proc, x):\n    return helper(x) + proc.rank", shell)
        assert started.run(shell["program"], 10).results == [20, 21]
        exec("scale = 3", shell)
        assert started.run(shell["program"], 10).results == [30, 31]
        exec("def helper(x):\n    return -x", shell)
        assert started.run(shell["program"], 10).results == [-10, -9]
        exec(
            "from dataclasses import dataclass\n"
            "@dataclass\nclass Point:\n    x: int\n    def moved(self, by):\n        return Point(self.x + by)\n"
            "class Wrong(Exception):\n    pass\n"
            "def moving(proc, point):\n    return point.moved(proc.rank)\n"
            "def failing(proc):\n    raise Wrong(proc.rank)\n",
            shell,
        )
        points = started.run(shell["moving"], shell["Point"](5)).results
        assert points == [shell["Point"](5), shell["Point"](6)]
        assert all(type(point) is shell["Point"] for point in points)
        with pytest.raises(ProcessorRaised, match="raised Wrong: 0") as caught:
            started.run(lambda proc: shell["failing"](proc) if proc.rank == 0 else proc.barrier())
        with pytest.raises(ProcessorRaised) as caught:
            started.run(shell["failing"])
        assert type(caught.value.__cause__) is shell["Wrong"]
    finally:
        vars(main).clear()
        vars(main).update(before)


NO_GUARD = """
import smp
factor = 3
def helper(proc, x):
    return factor * x + proc.rank
machine = smp.host(2, start={start!r})
print(machine.run(lambda proc: helper(proc, 5)).results)
with smp.host(2, start={start!r}) as other:
    print(other.run(helper, 6).results)
print("end")
"""


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_a_script_needs_no_guard(script: Script, start: str) -> None:
    out, err = script(NO_GUARD.format(start=start)).communicate(timeout=60)
    assert (out, err) == ("[15, 16]\n[18, 19]\nend\n", "")


@pytest.mark.parametrize("how", ["-c", "-"])
def test_a_program_on_the_command_line_or_from_standard_input_works(how: str) -> None:
    source = NO_GUARD.format(start="forkserver")
    done = subprocess.run(
        [sys.executable, how, *([source] if how == "-c" else [])],
        input=source if how == "-" else None,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("[15, 16]\n[18, 19]\nend\n", "")


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_text_that_was_printed_before_is_printed_only_once(script: Script, start: str) -> None:
    """The output of a script goes to a pipe in blocks. A forked process must not send its copy of a block."""
    source = f"""
        import smp, sys
        print("before")
        with smp.host(2, start={start!r}) as machine:
            machine.run(lambda proc: print("from", proc.rank))
            machine.run(lambda proc: print("and", proc.rank, end=""))
        print("after")
    """
    out, err = script(source).communicate(timeout=60)
    assert err == ""
    for line in ("before", "from 0", "from 1", "and 0", "and 1", "after"):
        assert out.count(line) == 1, out


def test_a_program_may_come_from_a_module_that_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: Machines, pair: smp.Machine
) -> None:
    (tmp_path / "user_module_one.py").write_text("def program(proc, x):\n    return x + proc.rank\n")
    (tmp_path / "user_module_two.py").write_text("def program(proc, x):\n    return x - proc.rank\n")
    monkeypatch.syspath_prepend(tmp_path)
    import user_module_one
    import user_module_two

    with smp.host(2) as machine:
        assert machine.run(user_module_one.program, 5).results == [5, 6]
    with pytest.raises(ProcessorRaised) as caught:  # that machine started before the folder was on the path
        pair.run(user_module_two.program, 5)
    assert isinstance(caught.value.__cause__, NotPicklable)
    assert (
        "module 'user_module_two' cannot be imported on the processors; "
        "it must be on sys.path when the machine is opened"
    ) in str(caught.value)
    monkeypatch.setattr(sys, "path", [Path("/no/such/place"), *sys.path])  # import skips what is no string
    with smp.host(1) as machine:
        assert machine.run(user_module_two.program, 5).results == [5]


LOCK = threading.Lock()
UNSENDABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "lock": (threading.Lock, r"a lock \(<unlocked .*lock.*\) exists in one process only"),
    "condition": (threading.Condition, "a Condition .* exists in one process only"),
    "event": (threading.Event, "a Event .* exists in one process only"),
    "thread": (threading.current_thread, "a _?M?a?i?n?Thread .* exists in one process only"),
    "file": (
        lambda: Path(os.devnull).open(),  # noqa: SIM115
        r"a TextIOWrapper \(<_io.TextIOWrapper name='/dev/null'.*\) exists in one proc",
    ),
    "generator": (lambda: (x for x in range(3)), r"a generator \(<generator object .*\) exists in one process only"),
    "socket": (lambda: __import__("socket").socket(), "a socket .* exists in one process only"),
    "frame": (sys._getframe, "a frame .* exists in one process only"),
    "process": (lambda: subprocess.Popen(["true"]), "exists in one process only|cannot pickle"),
    "machine": (lambda: smp.host(1), "a machine cannot be sent to another process"),
}


@pytest.mark.parametrize("what", UNSENDABLE)
def test_an_object_that_cannot_be_sent_is_named(pair: smp.Machine, what: str) -> None:
    make, why = UNSENDABLE[what]
    thing = make()
    ran = pair.zeros(1)

    def program(proc: smp.Processor, *args: Any, **kwargs: Any) -> None:
        ran.view[0] = 1

    def closing(proc: smp.Processor) -> Any:
        return thing

    namespace = {"__name__": "__main__", "treasure": thing}
    exec("def using(proc):\n    return treasure", namespace)
    exec("def helper():\n    return treasure\ndef indirectly(proc):\n    return helper()", namespace)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: pair.run(program, 1, thing), "argument 1 cannot be sent to the processors"),
        (lambda: pair.run(program, x=[{"a": thing}]), "argument 'x' cannot be sent"),
        (lambda: pair.run(closing), "'thing', which 'closing' closes over, cannot be sent"),
        (lambda: pair.run(lambda proc: [thing]), "'thing', which '<lambda>' closes over, cannot be sent"),
        (lambda: pair.run(namespace["using"]), "the global 'treasure', which 'using' uses, cannot be sent"),
        (lambda: pair.run(namespace["indirectly"]), "the global 'helper', which 'indirectly' uses, cannot be sent"),
    ]
    try:
        for act, named in cases:
            with pytest.raises(NotPicklable, match=f"{named}.*({why})") as caught:
                act()
            assert isinstance(caught.value, TypeError)
            assert "pass plain data, or make it inside the program" in str(caught.value)
        assert ran[0] == 0  # it was refused before any work
        assert pair.run(lambda proc: proc.rank).results == [0, 1]
    finally:
        for method in ("close", "wait"):
            if hasattr(thing, method) and what != "condition" and what != "event":
                getattr(thing, method)()


def test_a_result_that_cannot_be_sent_is_named(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised) as caught:
        pair.run(lambda proc: (n for n in range(proc.rank)))
    assert isinstance(caught.value.__cause__, NotPicklable)
    assert re.search(
        r"the program's result cannot be sent back: a generator \(.*\) exists in one process only", str(caught.value)
    )
    assert pair.run(lambda proc: proc.rank).results == [0, 1]


def test_an_object_whose_pickling_fails_is_named(pair: smp.Machine) -> None:
    class Broken:
        def __reduce__(self) -> Any:
            raise RuntimeError("no way")

    with pytest.raises(NotPicklable, match="argument 0 cannot be sent to the processors: RuntimeError: no way"):
        pair.run(lambda proc, x: None, Broken())


def test_an_unset_variable_of_a_closure_does_not_hide_the_error(pair: smp.Machine) -> None:
    def outer() -> Any:
        def program(proc: smp.Processor, lock: Any) -> Any:
            return later

        with pytest.raises(NotPicklable, match="argument 0"):
            pair.run(program, LOCK)
        later = 1
        return later

    assert outer() == 1


@pytest.mark.parametrize("start", each(3, STARTS))
def test_a_program_may_open_machines(nothing_left: None, start: str) -> None:
    def program(proc: smp.Processor) -> Any:
        array = None
        with smp.host(2, start=start) as inner:
            array = inner.full(3, proc.rank)
            results = inner.run(lambda p, a: p.reduce(p.rank + 1) + int(a.view.sum()), array).results
        with smp.host() as inner:
            return results, inner.size

    with smp.host(2, start=start) as machine:
        results = machine.run(program).results
    free = 1 if len(CPUS) >= 2 else len(CPUS)  # each processor has only its own CPU to give away
    assert results == [([3, 3], free), ([6, 6], free)]


def test_a_failure_of_an_inner_machine_is_reported_outside(nothing_left: None) -> None:
    def inner_program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            os._exit(3)
        proc.barrier()

    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            with smp.host(2) as inner:
                inner.run(inner_program)
        proc.barrier()

    with smp.host(2) as machine:
        with pytest.raises(
            ProcessorRaised, match="raised ProcessorDied: processor 1 of 2 ended with status 3"
        ) as caught:
            machine.run(program)
        assert isinstance(caught.value.__cause__, ProcessorDied)
        assert machine.run(lambda proc: proc.rank).results == [0, 1]


def test_an_inner_machine_ends_when_its_processor_is_killed(nothing_left: None) -> None:
    def program(proc: smp.Processor, pids: smp.GlobalArray) -> None:
        inner = smp.host(2)
        pids.view[proc.rank] = inner.run(lambda p: os.getpid()).results
        proc.barrier()
        if proc.rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        inner.run(lambda p: time.sleep(60))

    with smp.host(2) as machine:
        pids = machine.zeros((2, 2), np.int64)
        with pytest.raises(ProcessorDied, match="processor 0 of 2 was killed by SIGKILL"):
            machine.run(program, pids)
        assert all(gone(int(pid)) for pid in pids[:].flat)


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_processors_are_pinned_as_requested(start: str) -> None:
    def where(proc: smp.Processor) -> list[int]:
        return sorted(os.sched_getaffinity(0))

    def places(processors: int, pin: Any) -> list[list[int]]:
        with smp.host(processors, pin=pin, start=start) as machine:
            return machine.run(where).results

    n = len(CPUS)
    assert places(n, None) == places(n, True) == [[cpu] for cpu in CPUS]
    allowed = sorted(os.sched_getaffinity(0))
    assert places(n, False) == [allowed] * n
    assert places(n + 1, None) == [allowed] * (n + 1)
    assert places(2, [CPUS[-1], CPUS[0]]) == [[CPUS[-1]], [CPUS[0]]]
    assert places(3, (CPUS[0],) * 3) == [[CPUS[0]]] * 3


def test_a_machine_uses_the_current_affinity(fork_servers: None) -> None:
    """It does not use the affinity of the time when the fork server started."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, CPUS[:1])
        with smp.host() as machine:
            assert machine.size == 1
        with smp.host(2) as machine:
            assert machine.run(lambda proc: sorted(os.sched_getaffinity(0))).results == [CPUS[:1]] * 2
    finally:
        os.sched_setaffinity(0, before)


def test_processors_have_the_current_folder_and_environment(
    fork_servers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(proc: smp.Processor) -> Any:
        return os.getcwd(), os.environ.get("SMP_TEST_NEW"), os.environ.get("SMP_TEST_OLD"), os.read(0, 1)

    monkeypatch.setenv("SMP_TEST_OLD", "1")
    smp.host(1).close()
    monkeypatch.delenv("SMP_TEST_OLD")
    monkeypatch.setenv("SMP_TEST_NEW", "2")
    monkeypatch.chdir(tmp_path)
    with smp.host(1) as machine:
        assert machine.run(program).results == [(str(tmp_path), "2", None, b"")]


def test_output_of_processors_goes_to_the_output_of_the_parent(
    fork_servers: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """This is its current output: the fork server is older than the redirection."""

    def program(proc: smp.Processor) -> None:
        print("out", proc.rank)
        print("err", proc.rank, file=sys.stderr)

    for start in STARTS:
        with smp.host(2, start=start) as machine:
            machine.run(program)
        out, err = capfd.readouterr()
        assert sorted(out.splitlines()) == ["out 0", "out 1"]
        assert sorted(err.splitlines()) == ["err 0", "err 1"]


def test_machines_work_in_a_working_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    for start in STARTS:
        with smp.host(2, start=start) as machine:
            assert machine.run(lambda proc: proc.rank).results == [0, 1]


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_processors_draw_different_random_numbers(start: str) -> None:
    """Copies of one process would draw the same numbers."""

    def program(proc: smp.Processor) -> tuple[float, ...]:
        import random

        return float(np.random.random()), random.random()  # noqa: NPY002

    np.random.seed(1)  # noqa: NPY002
    with smp.host(2, start=start) as machine:
        first, second = machine.run(program).results
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_parent_may_ignore_sigchld(script: Script) -> None:
    """SIG_IGN for SIGCHLD is inherited, and makes the kernel reap children before their status can be read."""
    for start in STARTS:
        process = script(f"""
            import os, signal, smp
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            machine = smp.host(2, start={start!r})
            print(machine.run(lambda proc: proc.rank).results)
            try:
                machine.run(lambda proc: os._exit(7))
            except smp.errors.ProcessorDied as error:
                print("status 7" in str(error))
        """)
        out, err = process.communicate(timeout=60)
        assert (out, err) == ("[0, 1]\nTrue\n", "")


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"processors": 0}, ValueError, "processors must be from 1 to 1024, not 0"),
    ({"processors": -3}, ValueError, "processors must be from 1 to 1024, not -3"),
    ({"processors": 10**9}, ValueError, "processors must be from 1 to 1024, not 1000000000"),
    ({"processors": 2.0}, TypeError, r"processors must be a whole number, not 2\.0"),
    ({"processors": math.nan}, TypeError, "processors must be a whole number, not nan"),
    ({"processors": "2"}, TypeError, "processors must be a whole number, not '2'"),
    ({"processors": True}, TypeError, "processors must be a whole number, not True"),
    ({"streams": 0}, ValueError, "streams must be from 1 to 1024, not 0"),
    ({"start": "thread"}, ValueError, "start must be one of forkserver, spawn, fork, not 'thread'"),
    ({"start": ""}, ValueError, "start must be one of forkserver, spawn, fork, not ''"),
    ({"start": 3}, ValueError, "start must be one of forkserver, spawn, fork, not 3"),
    (
        {"processors": len(CPUS) + 1, "pin": True},
        ValueError,
        f"cannot pin {len(CPUS) + 1} processors: this process may use only",
    ),
    ({"processors": 2, "pin": [CPUS[0]]}, ValueError, r"pin=\[\d+\] must name at least 2 of the CPUs"),
    ({"processors": 1, "pin": [4096]}, ValueError, r"pin=\[4096\] must name at least 1 of the CPUs"),
    ({"processors": 1, "pin": 3}, TypeError, "pin must be True, False or a sequence of CPUs, not 3"),
    ({"processors": 1, "pin": "all"}, TypeError, "pin must be True, False or a sequence of CPUs, not 'all'"),
    ({"processors": 1, "pin": [0.5]}, TypeError, r"pin must be True, False or a sequence of CPUs, not \[0\.5\]"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD)
def test_bad_arguments_are_refused(
    nothing_left: None, options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        smp.host(**options)


@pytest.mark.parametrize("program", [None, 3, "program", [len]])
def test_an_object_that_is_not_a_program_is_refused(pair: smp.Machine, program: Any) -> None:
    with pytest.raises(TypeError, match=f"a program must be a function of a processor, not a {type(program).__name__}"):
        pair.run(program)


def test_wrong_arguments_of_a_program_are_reported(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match="takes 1 positional argument but 2 were given"):
        pair.run(lambda proc: None, 1)


@pytest.mark.parametrize("n", [-1, 1.5, None])
def test_a_share_of_an_invalid_number_is_refused(pair: smp.Machine, n: Any) -> None:
    with pytest.raises(ProcessorRaised) as caught:
        pair.run(lambda proc: proc.block(n))
    assert isinstance(caught.value.__cause__, ValueError if n == -1 else TypeError)


@pytest.mark.parametrize("processors", [1, 2, 7])
def test_shares_are_even_and_in_order_and_cover_everything(machines: Machines, processors: int) -> None:
    for n in (0, 1, 6, 7, 8, 100):
        blocks = machines(processors).run(lambda proc, n: proc.block(n), n).results
        sizes = [block.stop - block.start for block in blocks]
        assert [x for block in blocks for x in range(n)[block]] == list(range(n))
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)


def test_a_run_prints_as_a_table(pair: smp.Machine) -> None:
    array = pair.zeros((100, 100))

    def program(proc: smp.Processor, steps: int) -> None:
        for k in range(steps):
            with proc.superstep(f"step {k}") as step:
                mine = step.copy_in(array, proc.block(100))
                step.copy_out(array, proc.block(100), mine)

    first, head, rule, *rows = str(pair.run(program, 3)).splitlines()
    assert re.fullmatch(r"run on 2 processors: \S+ (us|ms)", first)
    assert head.split() == ["step", "label", "h_r", "h_w", "M", "copy-in", "compute", "copy-out"]
    assert set(rule) == {"-"}
    for k, row in enumerate(rows):
        assert re.fullmatch(rf" +{k}  step {k} +5,000 +5,000 +20,000( +[0-9,.]+ (ns|us|ms)){{3}}", row), row
    assert len(rows) == 3
    long = str(pair.run(program, 25)).splitlines()
    assert len(long) == 3 + 20 + 1
    assert long[-1] == "... and 5 more in run.steps"
    empty = pair.run(program, 0)
    assert len(str(empty).splitlines()) == 1
    assert re.fullmatch(r"<run on 2 processors, 0 supersteps, \S+ s>", repr(empty))


def test_a_machine_shows_its_state() -> None:
    machine = smp.host(1)
    assert repr(machine) == "<host machine of 1 processor, ready>"
    with machine as same:
        assert same is machine
    assert repr(machine) == "<host machine of 1 processor, closed: close() was called or its with block has ended>"
    machine.close()
    with pytest.raises(
        MachineClosed, match=r"this machine is closed: close\(\) was called .*; open a new one with smp\.host\(\)"
    ):
        machine.run(lambda proc: None)


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_a_machine_that_is_dropped_is_closed(nothing_left: None, start: str) -> None:
    machine = smp.host(2, start=start)
    pids = machine.run(lambda proc: os.getpid()).results
    machine = None
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize("start", QUICK_STARTS)
def test_processors_end_with_a_script_that_does_not_close_its_machine(script: Script, start: str) -> None:
    out, err = script(f"""
        import os, smp
        machine = smp.host(2, start={start!r})
        print(*machine.run(lambda proc: os.getpid()).results, *machine.run(lambda proc: os.getppid()).results)
    """).communicate(timeout=60)
    assert err == ""
    assert all(gone(int(pid)) for pid in out.split())


FORK_SERVER = """
import os, signal, sys, threading, time, psutil, smp

for idle in (True, False):
    machine = smp.host(2)
    server = machine.run(lambda proc: os.getppid()).results[0]
    pids = machine.run(lambda proc: os.getpid()).results
    if idle:
        os.kill(server, signal.SIGKILL)
        while psutil.pid_exists(server):
            time.sleep(0.001)
    else:
        threading.Timer(0.05, os.kill, (server, signal.SIGKILL)).start()
    for again in range(2):
        try:
            machine.run(lambda proc: time.sleep(60))
        except smp.errors.MachineError as error:
            print(type(error).__name__, error)
    until = time.monotonic() + 1
    while time.monotonic() < until and any(map(psutil.pid_exists, pids)):
        time.sleep(0.001)
    print([pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"])
with smp.host(1) as machine:
    print(machine.run(lambda proc: proc.size).results)
"""


def test_a_killed_fork_server_ends_its_machines_and_is_replaced(script: Script) -> None:
    """Its machines have ended, and the next machine starts another fork server."""
    out, err = script(FORK_SERVER).communicate(timeout=60)
    assert err == ""
    reason = "the process that starts the processors was killed, and the processors ended with it"
    told = [f"MachineError {reason}", f"MachineClosed this machine is closed: {reason}; call machine.restart()"]
    assert out.splitlines() == [*told, "[]", *told, "[]", "[1]"]


@pytest.mark.slow
def test_a_fork_server_that_has_retired_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork server ends after a while without machines. A machine that is opened at that moment gets another."""
    for root in list(launcher._roots.values()):
        root.close()
    launcher._roots.clear()
    code = launcher._CODE.replace("forkserver.main", "forkserver.LINGER = 0.05; forkserver.main")
    monkeypatch.setattr(launcher, "_CODE", code)
    seen = set()
    for k in range(8):
        with smp.host(1) as machine:
            seen.update(machine.run(lambda proc: os.getppid()).results)
        time.sleep(0.02 * k)
    assert 2 <= len(seen) <= 8
    for root in list(launcher._roots.values()):
        root.close()
    launcher._roots.clear()


def test_too_few_descriptors_are_reported(nothing_left: None) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 12, hard))
    try:
        with pytest.raises(
            MachineError, match=r"64 processors cannot be started: Too many open files: .* \(ulimit -n\)"
        ):
            smp.host(64)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_error_that_is_no_limit_is_not_blamed_on_one(nothing_left: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/meminfo")

    monkeypatch.setattr("smp._runtime.host.workers.Segment", missing)
    with pytest.raises(MachineError) as caught:
        smp.host(2)
    assert str(caught.value) == "2 processors cannot be started: No such file or directory: /proc/meminfo"


HIDDEN = """
import smp
with smp.host(2) as machine:
    print(machine.run(lambda proc: proc.reduce(1)).results)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /proc")
def test_a_machine_runs_without_proc() -> None:
    hide = 'mount -t tmpfs none /proc 2>/dev/null || exit 77; exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", hide, "sh", sys.executable, "-c", HIDDEN],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "Traceback" not in done.stderr and done.returncode in (1, 77, 127):
        pytest.skip("in this container not even root can hide /proc")
    assert done.stdout == "[2, 2]\n", done.stderr


def test_a_run_that_copies_much_says_so_once(pair: smp.Machine) -> None:
    captured = np.zeros(13_000_000)
    with pytest.warns(UserWarning, match=r"each run copies 104 MB to each processor: .* machine\.array") as said:
        assert pair.run(lambda proc: captured[0]).results == [0.0, 0.0]
    assert said[0].filename == __file__


def test_a_function_of_a_spawned_script_is_sent_by_value(script: Script) -> None:
    out, err = script("""
        import multiprocessing
        import smp

        @smp.local
        def doubled(x):
            return 2 * x

        def helper(proc):
            return doubled(proc.rank) + 1

        def program(proc):
            return helper(proc)

        def child():
            with smp.host(2) as machine:
                print(machine.run(program).results)

        if __name__ == "__main__":
            process = multiprocessing.get_context("spawn").Process(target=child)
            process.start()
            process.join()
    """).communicate(timeout=120)
    assert out == "[1, 3]\n", err


def test_threads_may_use_machines_at_the_same_time(nothing_left: None) -> None:
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        with smp.host(2) as machine:
            for k in range(20):
                results[number, k] = machine.run(lambda proc, x: proc.reduce(x), number * k).results

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {(n, k): [2 * n * k] * 2 for n in range(4) for k in range(20)}


def waiting(machine: smp.Machine) -> threading.Thread:
    """Run a program that does not end, in another thread; its ``error`` is the exception that the run raises."""
    begun = machine.zeros(1, np.int64)

    def program(proc: smp.Processor) -> None:
        begun.view[0] = 1
        time.sleep(60)

    class Runner(threading.Thread):
        error: BaseException | None = None

        def run(self) -> None:
            try:
                machine.run(program)
            except BaseException as error:
                self.error = error

    thread = Runner()
    thread.start()
    while not begun[0]:
        time.sleep(0.001)
    return thread


def test_a_machine_runs_one_program_at_a_time(nothing_left: None) -> None:
    with smp.host(2) as machine:
        thread = waiting(machine)
        with pytest.raises(MachineError, match="this machine is already running a program; open another one"):
            machine.run(lambda proc: None)
    thread.join(HARD)


def test_closing_a_machine_ends_the_program_of_another_thread(nothing_left: None) -> None:
    machine = smp.host(2)
    thread = waiting(machine)
    machine.close()
    thread.join(HARD)
    assert not thread.is_alive()
    assert isinstance(thread.error, MachineClosed)
    assert "close() was called while its program ran" in str(thread.error)


def test_a_signal_handler_may_close_the_machine_whose_program_runs(nothing_left: None) -> None:
    machine = smp.host(2)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: machine.close())
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        with pytest.raises(MachineClosed, match="this machine was closed while its program ran"):
            machine.run(lambda proc: time.sleep(60))
    finally:
        signal.signal(signal.SIGUSR1, before)
        timer.join()


def test_a_fork_of_the_parent_does_not_affect_the_machine(nothing_left: None) -> None:
    for start in STARTS:
        with smp.host(2, start=start) as machine:
            array = machine.full(1000, 1.0)
            child = os.fork()
            if child == 0:
                status = 1
                with contextlib.suppress(BaseException):
                    try:
                        machine.run(lambda proc: None)
                    except MachineError as error:
                        status = 0 if "belongs to process" in str(error) else 2
                    machine.close()
                    del array
                os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert machine.run(lambda proc, a: a.view.sum(), array).results == [1000, 1000]


def test_an_interrupt_to_a_processor_is_ignored(pair: smp.Machine) -> None:
    """This is by design: Ctrl-C goes to the whole process group, and the parent handles it."""

    def program(proc: smp.Processor) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return proc.reduce(1)

    assert pair.run(program).results == [2, 2]


def test_ctrl_c_ends_a_program_and_the_machine_remains_usable(nothing_left: None) -> None:
    with smp.host(2) as machine:
        for program in (lambda proc: proc.barrier() if proc.rank else time.sleep(0.2), lambda proc: time.sleep(0.2)):
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt) as caught:
                machine.run(program)
            timer.join()
            assert caught.value.__cause__ is None
            assert machine.run(lambda proc: proc.rank).results == [0, 1]
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextlib.contextmanager
def alarm(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Have a signal's handler raise an error after some time, as pytest-timeout does."""

    def handler(number: int, frame: object) -> None:
        raise error("time is up")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("error", [TimeoutError, KeyError, SystemExit])
def test_a_handler_that_raises_ends_a_program_and_the_machine_remains_usable(
    nothing_left: None, error: type[BaseException]
) -> None:
    with smp.host(2) as machine:
        for program in (lambda proc: proc.barrier() if proc.rank else time.sleep(60), lambda proc: time.sleep(60)):
            with alarm(0.05, error), pytest.raises(error, match="time is up") as caught:
                machine.run(program)
            assert caught.value.__cause__ is None
            assert machine.run(lambda proc: proc.rank).results == [0, 1]


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_a_program_that_swallows_all_exceptions(nothing_left: None, presses: int) -> None:
    machine = smp.host(2)
    timers = [threading.Timer(0.05 * (k + 1), os.kill, (os.getpid(), signal.SIGINT)) for k in range(presses)]

    def program(proc: smp.Processor) -> None:
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(60)

    for timer in timers:
        timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.run(program)
    for timer in timers:
        timer.join()
    with pytest.raises(MachineClosed, match="Ctrl-C ended a run, and not all processors stopped by themselves"):
        machine.run(lambda proc: None)


def test_ctrl_c_ends_a_stopped_processor(nothing_left: None) -> None:
    machine = smp.host(2)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.run(lambda proc: os.kill(os.getpid(), signal.SIGSTOP) if proc.rank else proc.barrier())
    timer.join()


def test_a_machine_may_have_many_processors(nothing_left: None) -> None:
    with smp.host(64) as machine:
        assert machine.run(lambda proc: proc.reduce(proc.rank)).results == [64 * 63 // 2] * 64


def test_a_signal_handler_of_the_user_stays_in_place(pair: smp.Machine) -> None:
    came = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        assert pair.run(lambda proc: time.sleep(0.15)).results == [None, None]
        timer.join()
        assert came == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


PRESSED = """
import gc, os, signal, sys, threading, time
import psutil, smp

start = sys.argv[1]
smp.host(1, start=start).close()
hits = rounds = 0

def fork_server(process):
    try:
        return any("forkserver.main(" in word for word in process.cmdline())
    except psutil.Error:  # about to be buried; where it is not, it stays in the count
        return False

def state():
    gc.collect()
    me = psutil.Process()
    servers = {child.pid for child in me.children() if fork_server(child)}
    rest = [child for child in me.children(recursive=True) if child.pid not in servers]
    return len(rest), len(os.listdir("/proc/self/fd")), open("/proc/self/maps").read().count("memfd:smp")

def settled(wanted):
    deadline = time.monotonic() + 2
    while state() != wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    return state()

def program(proc, k):
    with proc.superstep("step"):
        pass
    return proc.reduce(k)

def work():
    global rounds
    while time.monotonic() < until:
        with smp.host(2, start=start) as machine:
            array = machine.zeros(1 << 18)
            for k in range(30):
                assert machine.run(program, k).results == [2 * k] * 2
            rounds += 1

def raising(number, frame):
    raise KeyboardInterrupt

if sys.argv[3] == "own":
    signal.signal(signal.SIGINT, raising)
before = state()
print("ready", flush=True)
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    try:
        try:
            work()
        except KeyboardInterrupt:
            hits += 1
    except KeyboardInterrupt:
        hits += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
smp.host(1, start=start).close()  # buries what a Ctrl-C in a finalizer has left
print(hits, rounds, settled(before) == before, before, state(), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("start", "handler"), [*((start, "pythons") for start in STARTS), ("forkserver", "own")])
def test_ctrl_c_at_random_times_leaves_nothing_behind(script: Script, start: str, handler: str) -> None:
    """Ctrl-C comes many times during start, run and close; each time, nothing of the machine may remain.

    This also holds if a handler of the program's own raises, which may happen anywhere; then only the machine is lost.
    """
    seconds = 2.5
    process = script(PRESSED, start, str(seconds), handler)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    drawn, until, sent = random.Random(start), time.monotonic() + seconds - 0.2, 0
    while time.monotonic() < until:
        time.sleep(drawn.uniform(0.001, 0.06))
        process.send_signal(signal.SIGINT)
        sent += 1
    out, err = process.communicate(timeout=30)
    # Python itself loses a Ctrl-C that comes while it drops an object, and reports that; nothing else may be reported.
    assert re.fullmatch(r"(Exception ignored in: .*\n(Traceback .*\n( .*\n|\n)+)?KeyboardInterrupt: \n)*", err), err
    hits, _, clean, *states = out.split(maxsplit=3)
    assert clean == "True", states
    assert int(hits) >= sent // 4  # several may come while signals are held back, and count as one


@pytest.mark.parametrize("wait", [0.2, 0.5])
@pytest.mark.parametrize("start", QUICK_STARTS)
def test_ctrl_c_in_a_terminal_shows_one_traceback(start: str, wait: float) -> None:
    """The whole process group gets the signal. Only the parent shows a traceback, and its status is that of Python.

    A Ctrl-C before the script has begun would end an interpreter that cannot handle it yet, with status 1.
    """
    program = NO_GUARD.format(start=start) + "\nimport time\nsmp.host(2).run(lambda proc: time.sleep(60))"
    process = subprocess.Popen(
        [sys.executable, "-c", "print('begun', flush=True)\n" + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, err = process.communicate(timeout=HARD)
    except subprocess.TimeoutExpired:  # Python lost the Ctrl-C while it dropped an object, and said so
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=HARD)
        assert err.startswith("Exception ignored in: "), err
        err = err[err.index("\nKeyboardInterrupt: \n") + 1 :]
    assert process.returncode == -signal.SIGINT, err
    assert err.count("\nKeyboardInterrupt") == 1, err  # one may come while Python handles an error of its own
    assert err.rstrip().endswith("KeyboardInterrupt")
    left = [p for p in psutil.process_iter() if _session(p.pid) == process.pid]
    assert all(gone(p.pid) for p in left)


def _session(pid: int) -> int:
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return -1


KILLED = """
import os, sys, time, smp
from smp.compiled import barrier, load

@smp.stream
def spin(words):
    while load(words, 0) == 0:
        pass

def nothing(proc, words):
    proc.barrier()

def busy(proc, words):
    while True:
        pass

def blocked(proc, words):
    if proc.rank == 0:
        time.sleep(60)
    proc.barrier()

def spinning(proc, words):
    spin(words.view)

machine = smp.host(2, start=sys.argv[1])
words = machine.zeros(1, "i8")
pids = machine.run(lambda proc: (os.getpid(), os.getppid())).results
print(*(pid for pair in pids for pid in pair), flush=True)
machine.run({"idle": nothing, "busy": busy, "blocked": blocked, "spinning": spinning}[sys.argv[2]], words)
print("idle", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("start", each(3, STARTS))
def test_processors_end_when_the_parent_is_killed(script: Script, start: str) -> None:
    started = [script(KILLED, start, what) for what in ("idle", "busy", "blocked", "spinning")]
    pids = [int(word) for process in started if process.stdout for word in process.stdout.readline().split()]
    assert len(pids) == 4 * len(started)
    time.sleep(0.5)
    for process in started:
        process.kill()
    assert all(gone(pid, 2.0) for pid in pids)


@pytest.mark.parametrize("wait", each(2, [0.0, 0.1, 0.2, 0.3, 0.4]))
def test_processes_end_when_the_parent_is_killed_during_a_start(wait: float, tmp_path: Path) -> None:
    source = "import smp\nwhile True:\n    smp.host(2, start='spawn').run(len, ())"
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(0.3 + wait)
    family = [p.pid for p in psutil.process_iter() if _session(p.pid) == process.pid]
    process.kill()
    process.wait()
    family += [p.pid for p in psutil.process_iter() if _session(p.pid) == process.pid]
    assert all(gone(pid, 2.0) for pid in family)


def memory() -> int:
    """Return the bytes of memory that only this process uses."""
    return int(psutil.Process().memory_full_info().uss)


@pytest.mark.parametrize("times", [45, pytest.param(505, marks=pytest.mark.slow)])
def test_machines_work_after_failures_and_nothing_grows(nothing_left: None, times: int) -> None:
    """Each failure is followed by a new machine that works."""
    failures: list[Callable[[smp.Processor], Any]] = [
        lambda proc: os._exit(3) if proc.rank else proc.barrier(),
        lambda proc: os.kill(os.getpid(), signal.SIGKILL) if not proc.rank else proc.reduce(1),
        lambda proc: 1 // 0,
        lambda proc: proc.barrier() if proc.rank else proc.reduce(1),
        lambda proc: os.abort(),
    ]
    counts = []
    for k in range(times):
        machine = smp.host(2)
        array = machine.full(1 << 17, 1.0)
        with pytest.raises(smp.SmpError):
            machine.run(failures[k % 5])
        if k % 5 in (2, 3):
            assert machine.run(lambda proc: proc.rank).results == [0, 1]
        else:
            assert "closed: processor" in repr(machine)
        machine.close()
        assert array[:].all()
        with smp.host(2) as after:
            assert after.run(lambda proc: proc.reduce(proc.rank)).results == [1, 1]
        if k >= 5 and k % 20 == 4:
            counts.append((sum(descriptors().values()), threading.active_count(), segments(), len(processes())))
            if k == 24:
                before = memory()
    assert len(set(counts)) == 1
    assert memory() - before < 8 << 20


@pytest.mark.parametrize(
    ("start", "times"),
    [
        ("forkserver", 20),
        ("fork", 3),
        ("spawn", 2),
        pytest.param("forkserver", 10_000, marks=pytest.mark.slow),
        pytest.param("fork", 2_000, marks=pytest.mark.slow),
    ],
)
def test_the_smallest_program_runs_again_and_again(nothing_left: None, start: str, times: int) -> None:
    for _ in range(times):
        with smp.host(1, start=start) as machine:
            assert machine.run(repr).results == ["<processor 0 of 1>"]
