"""The wrapped mesh equals NumPy's rolled arrays bit for bit: in supersteps, by cells and by messages; its counts."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.machines import Emulated, Machines

import smp
from smp.errors import ProcessorRaised
from smp.kernels.costs import recorded
from smp.kernels.messages import mesh, mesh_cells, mesh_messages
from smp.kernels.messages.mailbox import PIECE
from smp.kernels.messages.mesh import mesh_shape, neighbours, new_state, relax_mesh
from smp.kernels.messages.mesh_cells import relax_mesh_cells
from smp.kernels.messages.mesh_messages import relax_mesh_messages
from smp.perturb import Busy, counted, screen, treated

EVERY = pytest.mark.parametrize("program", [relax_mesh, relax_mesh_cells, relax_mesh_messages])
SHAPES = [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (1, 5), (2, 3), (3, 2), (3, 3)]
Machine = Callable[[int], smp.Machine]


@pytest.fixture(scope="module")
def emulated() -> Iterator[Machine]:
    opened: dict[int, smp.Machine] = {}

    def machine(processors: int) -> smp.Machine:
        if processors not in opened:
            opened[processors] = smp.emulated(processors, seed=processors)
        return opened[processors]

    yield machine
    for one in opened.values():
        one.close()


def rolled(state: NDArray[Any], shape: tuple[int, int], rounds: int, grain: int) -> NDArray[Any]:
    """Return the same states from NumPy, on all nodes at once."""
    own = state.reshape(*shape, -1)
    for _ in range(rounds):
        north, south = np.roll(own, 1, 0), np.roll(own, -1, 0)
        west, east = np.roll(own, 1, 1), np.roll(own, -1, 1)
        for _ in range(grain):
            own = 0.5 * own + 0.125 * (north + south + west + east)
    return own.reshape(state.shape)


def relaxed(machine: smp.Machine, program: Any, state: NDArray[Any], **options: Any) -> NDArray[Any]:
    shared = machine.array(state)
    machine.run(program, shared, **options)
    return np.array(shared.view)


@EVERY
@settings(max_examples=25, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    words=st.integers(0, 5),
    rounds=st.integers(0, 4),
    grain=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_states_equal_those_of_rolled_arrays(
    emulated: Machine, program: Any, shape: tuple[int, int], words: int, rounds: int, grain: int, seed: int
) -> None:
    state = new_state(shape[0] * shape[1], words, seed)
    found = relaxed(emulated(len(state)), program, state, rounds=rounds, grain=grain, shape=shape)
    assert np.array_equal(found, rolled(state, shape, rounds, grain))


@settings(max_examples=25, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    words=st.integers(0, 5),
    rounds=st.integers(0, 4),
    grain=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_states_on_a_network_that_congests_equal_those_of_rolled_arrays(
    congested: Emulated, shape: tuple[int, int], words: int, rounds: int, grain: int, seed: int
) -> None:
    state = new_state(shape[0] * shape[1], words, seed)
    machine = congested(len(state))
    shared = machine.array(state)
    run = machine.run(relax_mesh_messages, shared, rounds=rounds, grain=grain, shape=shape)
    assert np.array_equal(shared.view, rolled(state, shape, rounds, grain))
    attempts, failures = (int(run.network[name].sum()) for name in ("attempts", "failures"))
    assert attempts - failures == 4 * len(state) * rounds  # each message arrives once
    assert run.results == [{"attempts": attempts, "failures": failures}] * len(state)


def test_long_states_take_several_messages(emulated: Machine, congested: Emulated, machines: Machines) -> None:
    state = new_state(4, 2 * PIECE + 3)
    for machine in (emulated(4), congested(4), machines(4)):
        found = relaxed(machine, relax_mesh_messages, state, rounds=3)
        assert np.array_equal(found, rolled(state, (2, 2), 3, 1))


def test_more_work_can_take_less_time_where_messages_congest() -> None:
    """Figure 4; nodes begin at different times, as in `examples/perturb_mesh.py`."""

    def program(proc: smp.Processor, state: smp.GlobalArray, grain: int, late: NDArray[Any]) -> None:
        idle(np.empty(late[proc.rank], np.uint8))
        relax_mesh_messages(proc, state, rounds=6, grain=grain)

    state, draw = new_state(16, 32), np.random.default_rng(0)
    with smp.emulated(16, schedule="clock", network=smp.networks.congested(timeout=200_000)) as machine:
        for late in draw.integers(0, 1_000_000, (3, 16)):
            runs = [machine.run(program, machine.array(state), grain, late) for grain in (8, 64)]
            assert all(run.network["failures"].sum() > 100 for run in runs)
            assert runs[0].seconds.max() > 1.05 * runs[1].seconds.max()


@smp.local
def idle(octets: NDArray[Any]) -> None:
    """Take 0.1 ns of virtual time for each octet."""


@EVERY
@pytest.mark.parametrize(("size", "rounds"), [(2, 50), (4, 20)])
def test_states_on_the_host_equal_those_of_rolled_arrays(
    machines: Machines, program: Any, size: int, rounds: int
) -> None:
    state = new_state(size)
    found = relaxed(machines(size), program, state, rounds=rounds, grain=7)
    assert np.array_equal(found, rolled(state, mesh_shape(size), rounds, 7))


@EVERY
def test_the_mesh_of_the_paper_equals_rolled_arrays(emulated: Machine, program: Any) -> None:
    state = new_state(16, 8)
    found = relaxed(emulated(16), program, state, rounds=3, grain=2)
    assert np.array_equal(found, rolled(state, (4, 4), 3, 2))


@EVERY
def test_all_states_converge_to_their_mean(emulated: Machine, program: Any) -> None:
    """The mean of each datum over the nodes stays the same: a node gets back from four neighbours what it gives."""
    state = new_state(9, 4, seed=3)
    found = relaxed(emulated(9), program, state, rounds=60)
    np.testing.assert_allclose(found, np.broadcast_to(state.mean(axis=0), state.shape), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize(("rounds", "words"), [(0, 3), (1, 1), (3, 7)])
def test_counts_equal_the_closed_form(emulated: Machine, size: int, rounds: int, words: int) -> None:
    machine = emulated(size)
    state = machine.array(new_state(size, words))
    run = machine.run(relax_mesh, state, rounds=rounds, grain=2)
    assert recorded(run).tolist() == mesh.cost(size, rounds, words).tolist()
    assert len(mesh.cost(size, rounds, words)) == rounds + 1
    run = machine.run(relax_mesh_cells, state, rounds=rounds, grain=2)
    assert recorded(run).tolist() == mesh_cells.cost(size, words).tolist()
    run = machine.run(relax_mesh_messages, state, rounds=rounds, grain=2)
    assert recorded(run).tolist() == mesh_messages.cost(size, words).tolist()
    assert run.results == [{}] * size


@EVERY
@pytest.mark.parametrize("seed", range(4))
def test_every_schedule_gives_the_same_states(program: Any, seed: int) -> None:
    state = new_state(4, 3)
    with smp.emulated(4, seed=seed) as machine:
        found = relaxed(machine, program, state, rounds=4, grain=1)
    assert np.array_equal(found, rolled(state, (2, 2), 4, 1))


def take_what_is_there(cells: smp.Cells, i: int) -> float:
    value = cells.readxx(i)  # full or empty
    cells.purge(i, value)
    return float(value)


@pytest.mark.parametrize(
    ("careless", "preemptions"), [(True, 1), (False, 1), pytest.param(False, 2, marks=pytest.mark.slow)]
)
def test_no_node_takes_a_state_of_another_round(
    monkeypatch: pytest.MonkeyPatch, careless: bool, preemptions: int
) -> None:
    """All schedules of two nodes with at most that many preemptions, and a planted bug that one of them reveals."""
    state = new_state(2, 1)
    if careless:
        monkeypatch.setattr(mesh_cells, "readfe", take_what_is_there)
    around = [neighbours(rank, (1, 2)) for rank in range(2)]

    def setup(machine: smp.Machine) -> Any:
        return machine.cells(8, np.float64), state.copy()

    def program(proc: smp.Processor, cells: smp.Cells, own: NDArray[Any]) -> None:
        mesh_cells.main(cells, proc.rank, around[proc.rank], own[proc.rank], 2, 1)

    def right(run: smp.Run, cells: smp.Cells, own: NDArray[Any]) -> bool:
        return np.array_equal(own, rolled(state, (1, 2), 2, 1))

    found = smp.explore(program, 2, preemptions, setup=setup, check=right)
    assert (found.failure is not None) == careless, str(found)
    if not careless:
        assert found.bound == preemptions
        assert found.schedules > 100


@pytest.mark.parametrize("grain", [1, 16])
def test_virtual_time_grows_with_the_grain(grain: int) -> None:
    """Each unit of work is charged: ``grain`` units take ``grain`` times the time of one."""

    def seconds(units: int) -> float:
        with smp.emulated(1, schedule="clock") as machine:
            run = machine.run(relax_mesh, machine.array(new_state(1)), rounds=1, grain=units)
            return float(run.steps["compute"][1])

    one = seconds(1) - seconds(0)
    assert one > 0
    assert seconds(grain) - seconds(0) == pytest.approx(grain * one)


def test_the_default_shape_is_the_nearest_to_a_square() -> None:
    for size in range(1, 65):
        rows, columns = mesh_shape(size)
        assert rows * columns == size
        assert rows <= columns
        assert not any(size % length == 0 for length in range(rows + 1, columns))


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_are_one_step_away(shape: tuple[int, int]) -> None:
    nodes = np.arange(shape[0] * shape[1]).reshape(shape)
    rolls = [np.roll(nodes, 1, 0), np.roll(nodes, -1, 0), np.roll(nodes, 1, 1), np.roll(nodes, -1, 1)]
    expected = np.stack(rolls, axis=-1).reshape(-1, 4)
    assert [neighbours(rank, shape).tolist() for rank in range(nodes.size)] == expected.tolist()


@EVERY
@pytest.mark.parametrize(
    ("states", "options", "says"),
    [
        (np.zeros((2, 3), np.float32), {}, "must be a global array of float64, not of float32"),
        (np.zeros((3, 3)), {}, r"shape \(3, 3\) do not fit 2 processors: give .* one row per processor"),
        (np.zeros(2), {}, "one row per processor"),
        (np.zeros((2, 3)), {"rounds": -1}, "rounds must be at least 0, not -1"),
        (np.zeros((2, 3)), {"grain": -2}, "grain must be at least 0, not -2"),
        (np.zeros((2, 3)), {"grain": 1.5}, "float"),
        (np.zeros((2, 3)), {"shape": (2, 2)}, "2 x 2 nodes does not fit 2 processors"),
        (np.zeros((2, 3)), {"shape": (-1, -2)}, "-1 x -2 nodes"),
    ],
)
def test_an_invalid_mesh_is_refused(
    emulated: Machine, program: Any, states: NDArray[Any], options: dict[str, Any], says: str
) -> None:
    machine = emulated(2)
    with pytest.raises(ProcessorRaised, match=says):
        machine.run(program, machine.array(states), **{"rounds": 1, **options})


@EVERY
@pytest.mark.parametrize("size", [1, 2, 4])
def test_each_place_is_a_part_of_the_program(program: Any, size: int) -> None:
    """All nodes pass the places as often as the docstrings say, and a delay at one of them changes no state."""
    rounds, grain = 3, 2
    with smp.emulated(size, schedule="clock") as machine:
        state = new_state(size, 3)
        with counted() as met:
            expected = relaxed(machine, program, state, rounds=rounds, grain=grain)
        with treated(dict.fromkeys(met, Busy(7_000))):
            assert np.array_equal(relaxed(machine, program, state, rounds=rounds, grain=grain), expected)
    passes = {name: one.passes / (size * rounds) for name, one in met.items()}
    exchanges = 1 if program is relax_mesh else 4
    assert passes == {"main_loop": 1, "receive": exchanges, "send": exchanges, "update": grain}


def test_in_shared_memory_each_delay_costs_its_length_times_the_passes_of_its_place() -> None:
    """Figure 3-a: nodes with equal work run in step."""
    with smp.emulated(4, schedule="clock") as machine:
        made = lambda: (machine.array(new_state(4, 8)), 5)  # noqa: E731
        program = lambda proc, state, rounds: relax_mesh(proc, state, rounds=rounds, grain=2)  # noqa: E731
        found = screen(program, "2^4", treatment="10us", arguments=made, machine=machine, replicates=2).analyse()
    effects = {name: found.effect(name) for name in found.design.factors}
    assert effects == pytest.approx({"main_loop": 50e-6, "receive": 50e-6, "send": 50e-6, "update": 100e-6})
