"""In a run with a log, the runtime's own calls are states of the processors."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import smp
from smp._runtime.program.records.log import EVENTS
from smp._runtime.program.records.runtime_states import OWN, RuntimeStates
from smp._runtime.program.records.states import States, joined_states
from smp.errors import WaitTimeout

Machines = Callable[[int], smp.Machine]


def states_of(run: smp.Run, rank: int) -> list[str]:
    """Return the states of a processor, in order; they must follow one another without gaps."""
    rows = run.states[run.states["rank"] == rank]
    assert (rows["end"][:-1] == rows["start"][1:]).all()
    assert (rows["end"] >= rows["start"]).all()
    names: list[str] = rows["state"].tolist()
    assert all(one != other for one, other in pairwise(names))
    return names


def superstep(proc: smp.Processor) -> None:
    with proc.superstep("first"):
        pass


ACTS: dict[str, tuple[str, Callable[[smp.Processor], object]]] = {
    "print": ("printing", lambda proc: proc.print("", end="")),
    "broadcast a list": ("broadcast", lambda proc: proc.broadcast([3])),
    "gather": ("broadcast", lambda proc: proc.gather([4])),
    "reduce": ("combine", lambda proc: proc.reduce(proc.rank)),
    "scan": ("combine", lambda proc: proc.scan(proc.rank)),
    "wait for all": ("barrier", lambda proc: proc.barrier()),
    "vote": ("barrier", lambda proc: proc.split.any(True).wait()),
    "superstep": ("barrier", superstep),
    "log": ("logging", lambda proc: proc.log("here")),
}
"""Calls, and the states in which they are, by the state that the program sets before."""
STATES = {
    "print": ["printing"],
    "broadcast": ["broadcast"],
    "combine": ["combine"],
    "barrier": ["barrier"],
    "message": ["sending", "handling"],
}
"""States by the event that is logged."""


@pytest.mark.parametrize("event", STATES)
def test_calls_of_the_runtime_are_states_if_their_event_is_logged(
    machines: Machines, event: str, tmp_path: Path
) -> None:
    def program(proc: smp.Processor) -> list[str]:
        before: list[str] = []
        for name, (_, act) in ACTS.items():
            before.append(proc.state(name))
            act(proc)
        return before

    run = machines(2).run(program, log=tmp_path / "run.log", logging=(event,))
    for rank in range(2):
        assert run.results[rank] == ["busy", *list(ACTS)[:-1]]
        own, found = "", dict[str, set[str]]()
        for name in states_of(run, rank):
            if name in OWN:
                found[own].add(name)
            else:
                own = name
                found.setdefault(own, set())
        seen = {name: state for name, (state, _) in ACTS.items() if state in (*STATES[event], "logging")}
        assert found == {name: {seen[name], "logging"} if name in seen else set() for name in ("busy", *ACTS)}


def test_without_logging_only_the_entries_of_the_program_are_states(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        proc.barrier()
        proc.log("here")
        proc.barrier()

    run = machines(2).run(program, log=tmp_path / "run.log")
    assert [states_of(run, rank) for rank in range(2)] == [["busy", "logging", "busy"]] * 2
    assert len(machines(2).run(program).states) == 0


def test_the_states_sum_up_to_the_time_of_the_program(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> tuple[float, float]:
        began = proc.clock()
        for k in range(30):
            with proc.state(f"state {k % 3}"):
                proc.reduce(k)
            proc.barrier()
        return began, proc.clock()

    run = machines(2).run(program, log=tmp_path / "run.log", logging=EVENTS)
    for rank, (began, ended) in enumerate(run.results):
        states_of(run, rank)
        rows = run.states[run.states["rank"] == rank]
        total = (rows["end"] - rows["start"]).sum()
        assert ended - began <= total + 1e-9
        assert total <= run.seconds[rank] + 1e-9
        assert rows["start"][0] <= began
        assert rows["end"][-1] >= ended


def test_messages_are_sent_and_handled_in_states_of_their_own(machines: Machines, tmp_path: Path) -> None:
    """A handler runs in a barrier, within which it replies, logs, and sets states."""

    def program(proc: smp.Processor) -> list[str]:
        told: list[str] = []

        def answered(message: smp.Message) -> None:
            with proc.state("inner"):
                told.append("inner")
            proc.log("in a handler")
            told.append(proc.state("lasting"))
            proc.log("in a handler")

        def asked(message: smp.Message) -> None:
            message.reply(answer)

        answer, question = proc.handler(answered), proc.handler(asked, replies=True)
        proc.state("asking")
        if proc.rank:
            proc.request(0, question)
            proc.wait_until(lambda: told)
        proc.barrier()
        return [*told, proc.state("end")]

    run = machines(2).run(program, log=tmp_path / "run.log", logging=("message", "barrier"))
    assert run.results == [["asking"], ["inner", "asking", "lasting"]]
    names = [[name for name in states_of(run, rank) if name != "logging"] for rank in range(2)]
    short = [[one for one, other in pairwise([*each, ""]) if one != other] for each in names]
    handled = ["handling", "sending", "handling"]
    assert short[0] in (["busy", "asking", "barrier", *handled, "barrier", "asking", "end", *quiet] for quiet in QUIETS)
    assert short[1] in (
        [
            "busy",
            "asking",
            "sending",
            "asking",
            "handling",
            "inner",
            "handling",
            "lasting",
            "barrier",
            "lasting",
            "end",
            *quiet,
        ]
        for quiet in QUIETS
    )
    within = states_of(run, 1)
    at = within.index("inner")
    assert within[at : at + 6] == ["inner", "handling", "logging", "handling", "lasting", "logging"]


QUIETS = [["barrier", "end"] * rounds for rounds in range(2, 6)]
"""The end of a program with handlers, which is quiet after two rounds or more."""


def test_a_wait_that_times_out_ends_its_state(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> str:
        came: list[int] = []
        handler = proc.handler(lambda message: came.append(1))
        if proc.rank == 0:
            with pytest.raises(WaitTimeout):
                proc.barrier(timeout=0.001)
            state = proc.state("late")
            proc.send(1, handler)
        else:
            proc.wait_until(lambda: came)
            state = proc.state("late")
        proc.barrier()
        proc.state("end")
        return str(state)

    path = tmp_path / "run.log"
    run = machines(2).run(program, log=path, logging=("barrier",))
    assert run.results == ["busy"] * 2
    names = [name for name in states_of(run, 0) if name != "logging"]
    short = [one for one, other in pairwise([*names, ""]) if one != other]
    assert short[:7] == ["busy", "barrier", "busy", "late", "barrier", "late", "end"]
    assert '"timed out in barrier at ' in path.read_text()


def test_a_program_may_use_the_names_of_calls_and_256_others(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        for name in (*OWN, *(f"state {k}" for k in range(254))):
            proc.state(name)
        with pytest.raises(ValueError, match="at most 256 states"):
            proc.state("one more")

    run = machines(1).run(program, log=tmp_path / "run.log")
    assert states_of(run, 0) == ["busy", *OWN, *(f"state {k}" for k in range(254))]


def test_threads_of_a_pool_have_no_states(tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        with proc.streams(2) as pool:
            for thread in [pool.start(lambda k: proc.log(f"thread {k}"), k) for k in range(20)]:
                thread.result()
        proc.log("program")

    for machine in (smp.host(1), smp.emulated(1)):
        with machine:
            run = machine.run(program, log=tmp_path / "run.log")
            assert states_of(run, 0) == ["busy", "logging", "busy"]
            assert len((tmp_path / "run.log").read_text().splitlines()) == 21


# The rule of nested calls.

Node = tuple[str, Any]
NODES = st.recursive(
    st.one_of(
        st.tuples(st.just("time"), st.integers(1, 3)),
        st.tuples(st.just("state"), st.sampled_from(["a", "b", "busy", "barrier"])),
        st.tuples(st.just("record"), st.booleans()),
    ),
    lambda inner: st.tuples(st.sampled_from(OWN), st.lists(inner, max_size=4)),
    max_leaves=20,
)


@given(st.lists(NODES, max_size=6))
@example([("barrier", [("record", False), ("time", 1), ("record", True), ("time", 1)])])
@example([("barrier", [("handling", [("handling", [("state", "a")]), ("time", 1)]), ("time", 1)])])
def test_a_call_covers_the_state_of_the_program_but_not_what_is_set_in_it(nodes: list[Node]) -> None:
    """The oracle walks through the calls.  Without the calls, the program sees the same states."""
    now, ticks = 0, list[str | None]()
    states, plain = RuntimeStates(lambda: float(now), lambda: False), States(lambda: float(now))
    current, recording = "busy", True

    def walk(nodes: list[Node], call: str) -> None:
        nonlocal now, current, recording
        covered = current
        for what, value in nodes:
            if what == "time":
                ticks.extend([(call if call and current == covered else current) if recording else None] * value)
                now += value
            elif what == "state":
                assert states.change(value) == plain.change(value) == current
                current = value
            elif what == "record":
                assert states.record(value) is recording
                recording = value
            else:
                covers = current == covered
                with states.during(what):
                    walk(value, what)
                if covers:
                    covered = current

    walk(nodes, "")
    states.end()
    with states.during("barrier"):  # that of the end of the program
        now += 5
    rows, _ = joined_states([states.packed()])
    seen: list[str | None] = [None] * len(ticks)
    for _, state, start, end in rows.tolist():
        seen[int(start) : int(end)] = [state] * int(end - start)
    assert seen == ticks
