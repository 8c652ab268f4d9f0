"""States of processors: their record, its limits, and its picture."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.machines import Emulated, Machines
from support.pictures import check

import smp
from smp import compiled
from smp._output.figure import BLACK, GREY, Cells
from smp._runtime.program.display.state_graph import COLUMNS, OWN, figure, legend, trace
from smp._runtime.program.records.states import LIMIT, STATE, States, joined_states


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines, emulated: Emulated) -> smp.Machine:
    return machines(2) if request.param == "host" else emulated(2)


def spend(steps: int) -> None:
    """Let time pass, in virtual time 20 ns a step."""
    for _ in range(steps):
        compiled.clock()


def rows_of(run: smp.Run, rank: int) -> list[tuple[str, float, float]]:
    """Return the states of a processor with their starts and ends in nanoseconds."""
    rows = run.states[run.states["rank"] == rank]
    return [(str(row["state"]), round(row["start"] * 1e9), round(row["end"] * 1e9)) for row in rows]


def test_virtual_times_of_states_are_exact(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> None:
        spend(1)
        proc.state("outer")
        spend(2)
        with proc.state("inner"):
            spend(3 + proc.rank)
        spend(1)
        before = proc.record_states(False)
        proc.state("not wanted")
        spend(7)
        proc.state("wanted")
        proc.record_states(before)
        spend(2)

    run = emulated(2).run(program)
    for rank in range(2):
        end = 120 + 20 * rank
        assert rows_of(run, rank) == [
            ("outer", 20, 60),
            ("inner", 60, end),
            ("outer", end, end + 20),
            ("wanted", end + 160, end + 200),
        ]
    assert run.states.dtype == STATE
    assert run.dropped_states == 0


def test_the_states_of_a_processor_sum_up_to_its_time_since_the_first_change(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[float, float, float]:
        before = proc.clock()
        proc.state("first")
        after = proc.clock()
        for k in range(300):
            with proc.state(f"state {k % 7}"):
                spend(10)
            if k % 100 == 0:
                proc.barrier()
        return before, after, proc.clock()

    run = machine.run(program)
    rounding = 1e-9
    for rank, (before, after, end) in enumerate(run.results):
        rows = run.states[run.states["rank"] == rank]
        total = (rows["end"] - rows["start"]).sum()
        assert end - after - rounding <= total <= rows["end"][-1] - before + rounding
        assert rows["end"][-1] >= end
        assert total <= run.seconds[rank] + rounding


Operation = tuple[str, Any]
OPERATIONS = st.one_of(
    st.tuples(st.just("state"), st.sampled_from(["a", "b", "idle", "busy"])),
    st.tuples(st.just("with"), st.sampled_from(["a", "c"])),
    st.tuples(st.just("leave"), st.none()),
    st.tuples(st.just("record"), st.booleans()),
    st.tuples(st.just("time"), st.integers(0, 3)),
)


@given(st.lists(OPERATIONS, max_size=40))
def test_states_are_those_of_every_moment(operations: list[Operation]) -> None:
    """The oracle notes at each tick of a clock which state the processor is in and whether it is recorded."""
    now = 0
    states = States(lambda: float(now))
    current, recording, blocks, changed = "busy", True, list[tuple[Any, str]](), False
    ticks: list[str | None] = []
    for what, value in operations:
        if what in ("state", "with"):
            before = states.change(value)
            assert before == current
            if what == "with":
                assert before.__enter__() is before
                blocks.append((before, current))
            current, changed = value, True
        elif what == "leave" and blocks:
            entered, current = blocks.pop()
            entered.__exit__(None, None, None)
        elif what == "record":
            assert states.record(value) is recording
            changed |= value is not recording
            recording = value
        elif what == "time":
            ticks += [current if recording and changed else None] * value
            now += value
    states.end()
    rows, dropped = joined_states([None, states.packed(), None])
    seen: list[str | None] = [None] * now
    for rank, state, start, end in rows.tolist():
        assert rank == 1
        assert seen[int(start) : int(end)] == [None] * int(end - start)
        seen[int(start) : int(end)] = [state] * int(end - start)
    assert seen == ticks
    assert dropped == 0


def test_a_state_is_set_again_after_an_exception(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> list[str]:
        with pytest.raises(ZeroDivisionError), proc.state("divide"):
            1 / 0  # noqa: B018
        old = proc.state("again")
        return [str(old), str(proc.state(old)), f"{old}"]

    assert emulated(1).run(program).results == [["busy", "again", "busy"]]


def test_the_state_before_is_a_string(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> Any:
        old = proc.state("new")
        return old, old == "busy", {"busy": 1}[old], isinstance(old, str)

    for old, *others in machine.run(program).results:
        assert type(old) is str
        assert [old, *others] == ["busy", True, 1, True]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (3, "TypeError: the name of a state must be a string, not 3"),
        (["a"], r"TypeError: the name of a state must be a string, not \['a'\]"),
        ("", "ValueError: a state needs a name"),
    ],
)
def test_names_that_are_not_valid_are_refused(emulated: Emulated, name: Any, text: str) -> None:
    with pytest.raises(smp.ProcessorRaised, match=text):
        emulated(1).run(lambda proc: proc.state(name))


def test_a_processor_has_at_most_256_states(emulated: Emulated) -> None:
    def program(proc: smp.Processor, more: int) -> None:
        for k in range(254 + more):
            proc.state(f"state {k}")
        proc.state("idle")
        proc.state("state 0")

    states = emulated(1).run(program, 0).states["state"]
    assert len(set(states)) == 255
    with pytest.raises(smp.ProcessorRaised, match="at most 256 states, idle and busy among them, and 'state 254'"):
        emulated(1).run(program, 1)


def test_changes_beyond_the_limit_are_counted() -> None:
    now = iter(range(100))
    states = States(lambda: float(next(now)), limit=4)
    for name in "abcdefg":
        states.change(name)
    states.end()
    rows, dropped = joined_states([states.packed()])
    assert [(str(row["state"]), row["start"], row["end"]) for row in rows] == [
        ("a", 0, 1),
        ("b", 1, 2),
        ("c", 2, 3),
        ("d", 3, 4),
    ]
    assert dropped == 3


def test_a_million_changes_are_recorded(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        for _ in range(LIMIT // 2 + 2):
            proc.state("a")
            proc.state("b")

    run = machines(1).run(program)
    assert len(run.states) == LIMIT == 1_000_000
    assert run.dropped_states == 4
    assert (run.states["start"][1:] == run.states["end"][:-1]).all()


def test_a_program_without_states_records_none(machine: smp.Machine) -> None:
    run = machine.run(lambda proc: proc._recorder.states)
    assert run.results == [None, None]
    assert len(run.states) == 0
    assert run.states.dtype == STATE
    assert all(pack.states is None for pack in run.packs)


def test_states_are_those_of_the_last_repeat(emulated: Emulated) -> None:
    def program(proc: smp.Processor, words: Any) -> None:
        proc.state(f"run {compiled.fetch_add(words.view, 0, 1)}")

    machine = emulated(1)
    run = machine.run(program, machine.zeros(1, np.int64), warmup=1, repeat=3)
    assert run.states["state"].tolist() == ["run 3"]
    assert [repeat.states["state"].tolist() for repeat in run.repeats] == [["run 1"], ["run 2"], ["run 3"]]


def test_explored_programs_have_states() -> None:
    def program(proc: smp.Processor, words: Any) -> None:
        with proc.state(f"add {proc.rank}"):
            compiled.fetch_add(words, 0, 1)

    def recorded(run: smp.Run, words: Any) -> bool:
        return run.states["state"].tolist() == ["add 0", "busy", "add 1", "busy"]

    assert smp.explore(program, 2, setup=lambda m: np.zeros(1, np.int64), check=recorded, limit=20).failure is None


# The picture.


@st.composite
def recorded_states(draw: st.DrawFn) -> NDArray[np.void]:
    """Draw rows of up to 4 processors, with gaps."""
    rows: list[tuple[int, str, float, float]] = []
    for rank in range(draw(st.integers(1, 4))):
        times = sorted(draw(st.lists(st.integers(0, 5_000), min_size=1, max_size=12)))
        for start, end in pairwise(times):
            if name := draw(st.sampled_from(["", "idle", "a", "b", "c"])):
                rows.append((rank, name, start * 1e-6, end * 1e-6))
    return np.array(rows, STATE)


@given(recorded_states().filter(len))
def test_each_column_has_the_colour_of_the_state_that_took_most_of_it(states: NDArray[np.void]) -> None:
    size = 5
    found = figure(states, size, 0)
    (panel,) = found.panels
    cells = panel.cells
    assert isinstance(cells, Cells)
    names = {one.colour: one.name for one in panel.series}
    values, heights = np.array(cells.values), np.array(cells.y)
    began, ended = states["start"].min(), states["end"].max()
    width = max(ended - began, 1e-9) / COLUMNS
    for rank in range(size):
        (inside,) = np.nonzero(np.abs(heights - rank) < 0.4)
        gaps = np.nonzero(np.isclose(np.abs(heights - rank), 0.5))
        assert len(inside) == 2
        assert np.isnan(values[gaps]).all()
        rows = states[states["rank"] == rank]
        for column in range(0, COLUMNS, 37):
            low, high = began + column * width, began + (column + 1) * width
            within = np.minimum(rows["end"], high) - np.maximum(rows["start"], low)
            seconds = {str(name): within[(rows["state"] == name) & (within > 0)].sum() for name in rows["state"]}
            for colour in values[inside, column]:
                if max(seconds.values(), default=0.0) < 1e-12:
                    assert np.isnan(colour) or seconds.get(names[int(colour)], 0.0) >= -1e-12
                else:
                    assert seconds[names[int(colour)]] >= max(seconds.values()) - 1e-12


def test_a_state_has_a_colour_of_its_own_and_idle_is_grey() -> None:
    rows = np.zeros(40, STATE)
    rows["state"] = ["idle", *(f"s{k}" for k in range(len(OWN))), *["s3"] * (39 - len(OWN))]
    rows["end"] = np.arange(40)
    names, own = legend(rows)
    assert names == [("idle", GREY), *((f"s{k}", colour) for k, colour in enumerate(OWN))]
    assert [names[k][0] for k in own] == rows["state"].tolist()
    assert len(set(OWN) | {GREY, BLACK}) == len(OWN) + 2


def test_states_beyond_the_colours_share_one() -> None:
    rows = np.zeros(len(OWN) + 4, STATE)
    rows["state"] = ["idle", *(f"s{k}" for k in range(len(OWN) + 3))]
    rows["end"] = [0, *range(len(rows) - 1, 0, -1)]  # the last took least
    rows["end"][2] = 0.5  # s1 took even less
    names, own = legend(rows)
    shown = [f"s{k}" for k in range(len(OWN) + 1) if k != 1]
    assert names == [("idle", GREY), *zip(shown, OWN, strict=True), ("3 other states", BLACK)]
    assert [k == len(names) - 1 for k in own] == [str(name) in ("s1", "s15", "s16") for name in rows["state"]]


@pytest.mark.parametrize("size", [1, 2, 33])
def test_the_picture_is_complete(size: int) -> None:
    rows = np.array([(size - 1, "a", 5.0, 5.002), (size - 1, "x" * 32, 5.002, 5.003)], STATE)
    picture = check(figure(rows, size, 12_345))
    (axes,) = [axes for axes in picture.axes if axes.get_xlabel() == "time"]
    assert axes.get_ylim() == (-0.5, size - 0.5)
    assert axes.get_xlim() == pytest.approx((0.0, 0.003))
    assert "12,345 further changes of a processor were not recorded" in [text.get_text() for text in picture.texts]


def test_every_name_is_in_the_legend() -> None:
    """Matplotlib leaves out labels that begin with an underscore, and reads formulas between dollars."""
    named = ["_private", "$x^{$", "a_b", "100%", r"\frac", "<b>"]
    rows = np.array([(0, name, k, k + 1.0) for k, name in enumerate(named)], STATE)
    (legend,) = [legend for part in check(figure(rows, 1, 0)).subfigs for legend in part.legends]
    assert [text.get_text().strip().replace(r"\$", "$") for text in legend.get_texts()] == named


def test_a_picture_of_states_that_took_no_time_can_be_drawn() -> None:
    check(figure(np.array([(0, "a", 1.0, 1.0)], STATE), 1, 0))


def test_pictures_and_traces_are_written_completely(emulated: Emulated, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        with proc.state("a"):
            spend(5 + proc.rank)

    run = emulated(2).run(program)
    for name in ("new/graph.png", "graph.svg", "trace.json", "trace.JSON"):
        path = tmp_path / name
        for _ in range(2):  # the second time, it is replaced
            run.state_graph(str(path) if name == "graph.svg" else path)
        assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []
    assert (tmp_path / "new/graph.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "graph.svg").getroot().tag.endswith("svg")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(event["tid"], event["args"]["name"]) for event in events[:2]] == [(0, "processor 0"), (1, "processor 1")]
    assert {event["ph"] for event in events[2:]} == {"X"}
    seen = [(event["tid"], event["name"], round(event["ts"] * 1e3), round(event["dur"] * 1e3)) for event in events[2:]]
    assert seen == [(0, "a", 0, 100), (0, "busy", 100, 0), (1, "a", 0, 120), (1, "busy", 120, 0)]


def test_traces_have_microseconds_from_the_first_change() -> None:
    rows = np.array([(1, "a", 7.0, 7.5), (1, "b", 7.5, 8.0), (0, "a", 6.0, 9.0)], STATE)
    events = trace(rows)["traceEvents"][2:]
    assert [(event["ts"], event["dur"]) for event in events] == [(1e6, 5e5), (1.5e6, 5e5), (0.0, 3e6)]


def test_a_graph_that_cannot_be_written_is_refused(emulated: Emulated, tmp_path: Path) -> None:
    empty, one = emulated(1).run(lambda proc: None), emulated(1).run(lambda proc: proc.state("a"))
    with pytest.raises(ValueError, match=r"written as \.png, \.svg or \.json, not as 'graph\.pdf'"):
        one.state_graph(tmp_path / "graph.pdf")
    with pytest.raises(ValueError, match=r"has recorded no state, .* call proc\.state"):
        empty.state_graph(tmp_path / "graph.png")
    assert list(tmp_path.iterdir()) == []
