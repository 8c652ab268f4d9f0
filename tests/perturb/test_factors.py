"""Named places and their treatments: their costs, the processes that they reach, and results that never change."""

import itertools
import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Script

import smp
from smp._runtime.loops.places import PLACES, slot_of
from smp.compiled import clock, delay, fetch_add, readfe, writeef
from smp.perturb import (
    Buffer,
    Busy,
    Cell,
    Lock,
    Message,
    Sleep,
    Treatment,
    Work,
    carried,
    counted,
    factor,
    treated,
    treatment,
)
from smp.perturb.places.settings import current

Machines = Callable[..., smp.Machine]
PROCESSORS = (1, 2, 3, 5)
TREATMENTS: list[Treatment] = [Busy(700), Work(50), Sleep(1e-5), Lock(), Cell(), Message(), Buffer(10_000)]


@smp.local
def in_a_loop(numbers: Any) -> float:
    total = 0.0
    for x in numbers:
        total += x
        delay("loop")
    return total


@smp.stream
def in_a_stream(belt: Any, me: int, size: int, rounds: int) -> None:
    for _ in range(rounds):
        delay("stream")
        token = readfe(belt, me)
        delay("handing")
        writeef(belt, (me + 1) % size, token + 1)


@factor("function")
def in_a_function(x: int) -> int:
    """Add one."""
    return x + 1


def in_python(passes: int) -> None:
    for _ in range(passes):
        with factor("block"):
            pass


@pytest.fixture(scope="module")
def clocks() -> Iterator[dict[int, smp.Machine]]:
    """Emulated machines that run in virtual time."""
    opened = {p: smp.emulated(p, schedule="clock") for p in PROCESSORS}
    yield opened
    for machine in opened.values():
        machine.close()


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert not PLACES.orders()
    assert not PLACES.actions
    assert PLACES.timer is None
    assert PLACES.carrier is None
    assert not PLACES.table.any()


def passed(do: Callable[[], object], name: str) -> int:
    with counted() as met:
        do()
    return met[name].passes if name in met else 0


# Places.


@pytest.mark.parametrize(
    ("do", "name", "passes"),
    [
        (lambda: in_python(7), "block", 7),
        (lambda: in_a_loop(np.ones(11)), "loop", 11),
        (lambda: [in_a_function(k) for k in range(5)], "function", 5),
        (lambda: [delay("point") for _ in range(3)], "point", 3),
        (lambda: in_a_loop(np.ones(11)), "block", 0),
    ],
)
def test_every_pass_is_counted(do: Callable[[], object], name: str, passes: int) -> None:
    assert passed(do, name) == passes


def test_the_time_inside_a_place_is_that_between_entering_and_leaving() -> None:
    with counted() as met:
        with factor("outer"):
            time.sleep(0.02)
            with factor("inner"):
                time.sleep(0.01)
            delay("point")
        began = time.monotonic()
        in_python(1)
        spent = time.monotonic() - began
    assert met["inner"].inside >= 0.01
    assert met["outer"].inside >= met["inner"].inside + 0.02
    assert met["block"].inside <= spent
    assert met["point"].inside == 0


def test_threads_are_counted_and_treated_together() -> None:
    def work() -> None:
        in_a_loop(np.ones(1000))
        in_python(100)

    def together() -> None:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    in_a_loop(np.ones(1))
    with counted() as met:
        together()
    assert (met["loop"].passes, met["block"].passes) == (4000, 400)
    with treated({"loop": Lock(), "block": Lock()}):  # a thread that kept the lock would stop the others
        together()


@pytest.mark.parametrize("one", [Busy(2_000_000), Sleep(0.002)])
@pytest.mark.parametrize(
    "do",
    [
        lambda: in_python(3),
        lambda: in_a_loop(np.ones(3)),
        lambda: [in_a_function(k) for k in range(3)],
    ],
)
def test_a_delay_lasts_at_least_its_length(one: Treatment, do: Callable[[], object]) -> None:
    do()
    with treated(dict.fromkeys(("block", "loop", "function"), one)):
        began = time.monotonic_ns()
        do()
        assert time.monotonic_ns() - began >= 3 * 2_000_000


def test_the_time_of_work_follows_from_its_units() -> None:
    assert 0.1 < Work.unit_ns() < 1_000
    assert Work(1000).seconds == pytest.approx(1000e-9 * Work.unit_ns())


def test_treatments_nest_and_end() -> None:
    def named() -> set[str]:
        return set(PLACES.orders())

    with treated({"a": "1us", "b": "1us"}):
        with treated({"a": None, "c": Busy(5)}):
            assert named() == {"b", "c"}
        assert named() == {"a", "b"}
        with pytest.raises(ZeroDivisionError), treated({"d": "lock"}):
            raise ZeroDivisionError
        assert named() == {"a", "b"}
    assert named() == set()


def test_blocks_that_do_not_nest_leave_nothing_behind(clocks: dict[int, smp.Machine]) -> None:
    """Blocks of threads, or of an emulated machine's processors, need not nest: each removes its own treatments."""
    first, second = treated({"one": "1us", "both": "1us"}), treated({"two": "2us", "both": "2us"})
    first.__enter__()
    second.__enter__()
    assert current() == {"one": Busy(1000), "two": Busy(2000), "both": Busy(2000)}
    first.__exit__(None, None, None)
    assert current() == {"two": Busy(2000), "both": Busy(2000)}
    second.__exit__(None, None, None)
    assert not current()
    assert not PLACES.orders()

    def program(proc: Any) -> None:
        with treated({"k": "1ms"}):
            proc.barrier()
            with factor("k"):
                pass
            proc.barrier()

    clocks[3].run(program)
    assert not current()
    assert not PLACES.orders()
    with (
        pytest.raises(ValueError, match="only an experiment measures the time in a place, so 20% of it is unknown"),
        treated({"a": "20%"}),
    ):
        pass
    with treated({"a": "1us"}):
        assert list(current()) == ["a"]


def test_time_inside_is_counted_for_the_place_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """This also holds for alternating generators, and for a place inside itself."""
    ticks = itertools.count(0, 10**9)
    monkeypatch.setattr("smp.perturb.places.counting.now", lambda: next(ticks))

    def waiting(name: str) -> Iterator[None]:
        with factor(name):
            yield

    with counted() as met:
        first, second = waiting("first"), waiting("second")
        next(first)  # 0
        next(second)  # 1
        next(first, None)  # 2
        with factor("between"):  # 3 to 4
            pass
        next(second, None)  # 5
        nested(4)  # 6 to 15
    assert {name: one.inside for name, one in met.items()} == {"first": 2, "second": 4, "between": 1, "nested": 9}
    assert met["nested"].passes == 5
    # the innermost place that was entered last takes the time, and a place inside itself adds up all of its passes
    assert {name: one.own for name, one in met.items()} == {"first": 1, "second": 3, "between": 1, "nested": 9}
    assert met["second"].share(run=8) == 0.5
    assert met["second"].own_share(run=8) == 0.375


@factor("nested")
def nested(depth: int) -> None:
    if depth:
        nested(depth - 1)


def test_an_exception_passes_through_treated_and_counted_blocks() -> None:
    with treated({"block": "1us"}), pytest.raises(KeyError, match="lost"), factor("block"):
        raise KeyError("lost")
    with counted() as met, pytest.raises(KeyError, match="lost"), factor("block"):
        raise KeyError("lost")
    assert met["block"].passes == 1


def test_counting_inside_counting_counts_for_both() -> None:
    def once() -> None:
        in_python(2)
        in_a_loop(np.ones(3))

    with counted() as outer, factor("around"):
        once()
        with counted() as inner:
            once()
            with smp.emulated(2) as machine:
                machine.run(lambda proc: once())
        once()
    assert {name: found.passes for name, found in inner.items()} == {"block": 6, "loop": 9}
    assert {name: found.passes for name, found in outer.items()} == {"block": 10, "loop": 15, "around": 1}
    assert (inner["block"].by, outer["block"].by) == (2, 2)
    assert outer["block"].inside > inner["block"].inside > 0


def test_counts_that_overlap_may_end_in_any_order() -> None:
    with treated({"block": "1us"}):
        first, second = counted(), counted()
        met = [first.__enter__()]
        in_python(1)
        met.append(second.__enter__())
        in_python(2)
        first.__exit__(None, None, None)
        in_python(4)
        assert PLACES.timer is not None
        second.__exit__(None, None, None)
        assert list(PLACES.orders()) == ["block"]
    assert [found["block"].passes for found in met] == [3, 6]


def test_a_treatment_inside_a_count_is_carried_out_and_its_passes_are_not_counted() -> None:
    treatments: list[dict[str, Any]] = [{}, {"block": "3us"}, {"block": "3us", "loop": "2us"}, {}]
    spent = []
    with counted() as met, smp.emulated(1, schedule="clock") as machine:
        for wanted in treatments:
            with treated(wanted):
                (time_spent,) = machine.run(in_a_program, np.ones(4)).results
                spent.append(time_spent)
    assert [each - spent[0] for each in spent] == [0, 6_000, 14_000, 0]
    assert {name: found.passes for name, found in met.items()} == {"block": 4, "loop": 8}


def in_a_program(proc: smp.Processor, array: np.ndarray) -> int:
    began = clock()
    in_python(2)
    in_a_loop(array)
    return clock() - began


def test_names_that_share_a_slot_are_distinguished() -> None:
    slots: dict[int, str] = {}
    for k in range(10_000):
        name = f"place{k}"
        other = slots.setdefault(slot_of(name), name)
        if other != name:
            break
    loops = [f"    for _ in range({k} * n):\n        delay({place!r})\n" for k, place in ((1, name), (2, other))]
    source = "def loop(n):\n" + "".join(loops)
    space: dict[str, Any] = {"delay": delay}
    exec(source, space)
    loop = smp.local(space["loop"])
    with counted() as met:
        loop(10)
    assert (met[name].passes, met[other].passes) == (10, 20)
    with smp.emulated(1, schedule="clock") as machine:
        for wanted, spent in (({name: "1us"}, 10), ({other: "1us"}, 20), ({name: "1us", other: "3us"}, 70)):
            with treated(wanted):
                assert virtual(machine, lambda proc: loop(10)) == spent * 1000


def test_places_with_invalid_names_are_refused() -> None:
    for wrong in ("", "a b", "a,b", "a&b", "a=b", "a+b", "-a", "a;b", "a\tb", "a\0b", "\ud800"):
        with pytest.raises(ValueError, match="cannot be called"):
            factor(wrong)
        with pytest.raises(ValueError, match="cannot be called"), treated({wrong: "1us"}):
            pass
    with pytest.raises(TypeError, match="a string"):
        factor(3)  # type: ignore[arg-type]


def test_a_compiled_loop_must_name_places_by_literals() -> None:
    @smp.local
    def loop(name: str) -> None:
        delay(name)

    with pytest.raises(Exception, match='as a literal, delay\\("swap"\\)'):
        loop("swap")


def test_a_decorated_function_keeps_its_name_and_its_result() -> None:
    assert (in_a_function.__name__, in_a_function.__doc__) == ("in_a_function", "Add one.")
    assert in_a_function(x=1) == 2
    assert pickle.loads(pickle.dumps(factor("swap"))) is factor("swap")


def test_a_function_that_does_not_run_when_called_is_not_a_place() -> None:
    def generator() -> Iterator[int]:
        yield 1

    with pytest.raises(TypeError, match="does not run when it is called"):
        factor("g")(generator)
    with pytest.raises(TypeError, match="compiled loop"):
        factor("g")(in_a_loop)


# Texts.


@given(
    st.one_of(
        st.builds(Busy, st.integers(0, 10**9)),
        st.builds(Work, st.integers(0, 10**9)),
        st.builds(Sleep, st.floats(0, 100)),
        st.builds(Buffer, st.integers(0, 10**9)),
        st.sampled_from([Lock(), Cell(), Message()]),
    )
)
def test_a_treatment_is_recovered_from_its_text(one: Treatment) -> None:
    assert treatment(str(one)) == one


@pytest.mark.parametrize("text", ["", "10", "us", "10 years", "work:1.5", "lock:3", "-1us", "sleep:", "nap:1us"])
def test_other_texts_are_not_treatments(text: str) -> None:
    with pytest.raises(ValueError, match="not a treatment"):
        treatment(text)


def test_invalid_amounts_are_refused() -> None:
    with pytest.raises(ValueError, match="takes 0 to"):
        Busy(-1)
    with pytest.raises(TypeError, match="whole number of units"):
        Work(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes 0 to"):
        Sleep(float("nan"))
    with pytest.raises(TypeError, match="must be a Busy"), treated({"a": 5}):  # type: ignore[dict-item]
        pass


# On machines.


def virtual(machine: smp.Machine, program: Callable[[Any], object]) -> int:
    """Return the virtual ns that the slowest processor takes."""

    def timed(proc: Any) -> int:
        began = proc._port.now()
        program(proc)
        return int(proc._port.now() - began)

    return max(machine.run(carried(timed, machine)).results)


@settings(max_examples=15, deadline=None)
@given(
    passes=st.integers(0, 20),
    one=st.sampled_from([(Busy(123), 123), (Work(7), 28), (Sleep(1e-6), 1000), (Lock(), 16), (Buffer(500), 50)]),
    p=st.sampled_from(PROCESSORS),
)
def test_each_treatment_takes_exactly_its_virtual_time(
    passes: int, one: tuple[Treatment, int], p: int, clocks: dict[int, smp.Machine]
) -> None:
    programs: dict[str, Callable[[Any], object]] = {
        "block": lambda proc: in_python(passes),
        "loop": lambda proc: in_a_loop(np.ones(passes)),
        "function": lambda proc: [in_a_function(k) for k in range(passes)],
        "point": lambda proc: [delay("point") for _ in range(passes)],
    }
    for name, program in programs.items():
        without = virtual(clocks[p], program)
        with treated({name: one[0], "nowhere": Busy(10**6)}):
            assert virtual(clocks[p], program) - without == passes * one[1]


def passing_on(proc: Any, belt: smp.Cells, rounds: int) -> float:
    """Use every kind of place."""
    with factor("block"):
        if proc.rank == 0:
            belt.writeef(0, 0)
    in_a_stream(belt, proc.rank, proc.size, rounds)
    for k in range(3):
        in_a_function(k)
    return in_a_loop(np.arange(5.0))


@pytest.mark.parametrize("kind", ["host", "emulated"])
def test_places_are_counted_on_every_processor(kind: str, machines: Machines, clocks: dict[int, smp.Machine]) -> None:
    machine = machines(2) if kind == "host" else clocks[2]
    with counted() as met, factor("around"):
        run = machine.run(passing_on, machine.cells(2), 10)
    passes = {name: found.passes for name, found in met.items()}
    assert passes == {"around": 1, "block": 2, "stream": 20, "handing": 20, "function": 6, "loop": 10}
    assert {name: found.by for name, found in met.items()} == {name: 1 + (name != "around") for name in passes}
    assert met["block"].inside > 0
    assert run.results == [10.0, 10.0]
    assert machine.run(passing_on, machine.cells(2), 10).results == [10.0, 10.0]  # the same results without counting


def opening_another(proc: Any) -> int:
    with smp.emulated(3) as machine:
        return len(machine.run(passing_on, machine.cells(3), 1).results)


def test_places_on_a_machine_inside_a_machine_are_counted(pair: smp.Machine) -> None:
    with counted() as met:
        assert pair.run(opening_another).results == [3, 3]
    assert met["block"].passes == 6
    assert met["block"].by == 6


def test_a_program_that_fails_while_it_is_counted_raises_the_usual_error(pair: smp.Machine) -> None:
    def program(proc: Any) -> None:
        with factor("block"):
            raise ValueError("as ever")

    with counted() as met, pytest.raises(smp.errors.ProcessorRaised, match=r"(?s)ValueError: as ever.*in program"):
        pair.run(program)
    assert not met
    assert pair.run(lambda proc: proc.rank).results == [0, 1]


def test_processors_forked_from_a_counting_process_count_their_own_passes() -> None:
    with counted() as met, smp.host(2, start="fork") as machine:
        machine.run(passing_on, machine.cells(2), 10)
    assert {name: one.passes for name, one in met.items()}["stream"] == 20


@settings(max_examples=12, deadline=None)
@given(
    chosen=st.dictionaries(
        st.sampled_from(["block", "stream", "handing", "function", "loop"]), st.sampled_from(TREATMENTS), max_size=5
    ),
    p=st.sampled_from(PROCESSORS),
    host=st.booleans(),
    rounds=st.integers(0, 8),
)
def test_treatments_never_change_results(
    chosen: dict[str, Treatment],
    p: int,
    host: bool,
    rounds: int,
    machines: Machines,
    clocks: dict[int, smp.Machine],
) -> None:
    machine = machines(2) if host else clocks[p]
    belt = machine.cells(machine.size)
    with treated(chosen):
        run = machine.run(carried(passing_on, machine), belt, rounds)
    assert run.results == [10.0] * machine.size
    assert belt.peek(0) == (True, machine.size * rounds)


@smp.stream
def claiming(next_: Any, out: Any, me: int) -> None:
    """Claim indices one by one, and square them."""
    while True:
        delay("claim")
        i = fetch_add(next_, 0, 1)
        if i >= out.size:
            return
        out[i] = i * i
        delay("square")


def squares(proc: Any, next_: smp.GlobalArray, out: smp.GlobalArray) -> int:
    claiming(next_.view, out.view, proc.rank)
    proc.barrier()
    with factor("summing"):
        return int(proc.reduce(int(out.view[proc.block(out.size)].sum())))


@settings(max_examples=10, deadline=None)
@given(
    chosen=st.dictionaries(st.sampled_from(["claim", "square", "summing"]), st.sampled_from(TREATMENTS), max_size=3),
    p=st.sampled_from(PROCESSORS),
    seed=st.integers(0, 3),
)
def test_treatments_never_change_results_under_any_schedule(chosen: dict[str, Treatment], p: int, seed: int) -> None:
    with smp.emulated(p, seed=seed) as machine, treated(chosen):
        out = machine.zeros(20, np.int64)
        run = machine.run(carried(squares, machine), machine.zeros(8, np.int64), out)
        assert out.view.tolist() == [i * i for i in range(20)]
        assert run.results == [sum(i * i for i in range(20))] * p


def test_treatments_reach_closures_and_end_with_the_program(pair: smp.Machine) -> None:
    place = factor("closed")

    def program(proc: Any) -> int:
        began = time.monotonic_ns()
        with place:
            pass
        return time.monotonic_ns() - began

    def left(proc: Any) -> int:
        from smp._runtime.loops.places import PLACES

        return len(PLACES.orders())

    with treated({"closed": Sleep(0.003)}):
        assert min(pair.run(carried(program, pair)).results) >= 3_000_000
    assert pair.run(left).results == [0, 0]


def test_a_treated_program_that_cannot_be_pickled_names_the_variable_it_closes_over(pair: smp.Machine) -> None:
    lock = threading.Lock()
    with treated({"here": "1us"}), pytest.raises(smp.NotPicklable, match=r"'lock', which .* closes over"):
        pair.run(lambda proc: lock.locked())


def test_a_program_that_fails_under_treatment_raises_the_usual_error(pair: smp.Machine) -> None:
    def program(proc: Any) -> None:
        with factor("block"):
            if proc.rank == 1:
                raise ValueError("as ever")
            proc.barrier()

    for one in (Busy(1000), Cell(), Message()):
        with treated({"block": one}), pytest.raises(smp.errors.ProcessorRaised, match="as ever"):
            pair.run(carried(program, pair))
    assert pair.run(lambda proc: proc.rank).results == [0, 1]


# Treatments from the environment, and machine code from the disk.

PROGRAM = """
    import time
    import numpy as np, smp
    from smp.compiled import delay

    @smp.local
    def loop(n):
        for _ in range(n):
            delay("swap")

    def program(proc):
        loop(1)
        began = time.monotonic_ns()
        loop(4)
        return time.monotonic_ns() - began

    if __name__ == "__main__":
        with smp.host(2) as machine:
            spent = machine.run(program).results
        began = time.monotonic_ns()
        loop(4)
        print(min(spent) >= 12_000_000, time.monotonic_ns() - began >= 12_000_000)
"""


def said(process: "subprocess.Popen[str]") -> tuple[str, str]:
    out, err = process.communicate(timeout=100)
    return out, err


def test_the_environment_treats_all_processes_of_a_script(script: Script) -> None:
    for _ in range(2):  # the second run finds its machine code on the disk
        out, err = said(script(PROGRAM, SMP_TREATMENTS="swap=3ms;elsewhere=lock"))
        assert out.split() == ["True", "True"], err


def test_an_invalid_environment_variable_is_reported(script: Script) -> None:
    out, err = said(script("import smp.perturb", SMP_TREATMENTS="swap=soon"))
    assert out == ""
    assert "SMP_TREATMENTS=swap=soon: 'soon' is not a treatment" in err
