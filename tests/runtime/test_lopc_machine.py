"""Programs of requests on the emulated machine, and the simulation of the same requests: each cycle takes as long."""

import itertools
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp.kernels.messages.request_cycles import model_machine, requests
from smp.models.lopc import all_to_all_pattern, client_server_pattern
from smp.models.lopc.machine import Machine
from smp.models.lopc.setting import Setting, checked_setting

HZ = 1e12  # so that a cycle of the machine is a picosecond, in which it counts
OCCUPANCY = 2.0**32  # cycles of a handler: the times of the simulation are then whole numbers of cycles, and so exact
VARIATIONS, WORKS, WIRES = (0.0, 0.5, 1.0, 2.0), (0.0, 0.25, 1.0, 4.0, 16.0), (0.0, 0.25, 1.0, 4.0)


def ends_by_simulation(setting: Setting, each: int, of_work: float, seed: int) -> tuple[list[list[int]], float]:
    """Return the times at which the cycles of each thread end, and the time at which the simulation ended, in ps."""
    machine = Machine(setting, of_work, seed)
    machine.ended = []
    machine.run(each * len(setting.threads))
    ends: list[list[int]] = [[] for _ in setting.work]
    for thread, end in machine.ended:
        if end <= machine.now:
            ends[thread].append(int(end))
    return ends, machine.now


def ends_by_program(setting: Setting, until: float, of_work: float, seed: int) -> list[list[int]]:
    """Return the same from a program that begins cycles until the same time."""
    file = model_machine(setting.latency, hz=HZ, protocol_processor=setting.protocol_processor)
    with smp.emulated(len(setting.work), machine=file) as machine:
        results = machine.run(requests, setting, until / HZ, of_work, seed).results
    return [[end for end in np.rint(one.ended * HZ).astype(int).tolist() if end <= until] for one in results]


def check(
    pattern: tuple[Any, Any],
    wire: float,
    variation: float,
    apart: bool = False,
    of_work: float = 1.0,
    each: int = 8,
    seed: int = 0,
) -> None:
    """Compare all cycles of one setting, with times in units of a handler."""
    work, visits = pattern
    setting = checked_setting(work * OCCUPANCY, visits, wire * OCCUPANCY, OCCUPANCY, variation, apart)
    simulated, until = ends_by_simulation(setting, each, of_work, seed)
    assert sum(map(len, simulated)) > (each - 2) * len(setting.threads)
    assert ends_by_program(setting, until, of_work, seed) == simulated


def several_hops(work: float, processors: int, hops: float) -> tuple[Any, Any]:
    works, visits = all_to_all_pattern(work, processors)
    return works, hops * visits


APART = pytest.mark.parametrize("apart", [False, True], ids=["", "protocol processors"])


@APART
@pytest.mark.parametrize("variation", each(3, VARIATIONS))
@pytest.mark.parametrize("work", each(2, [0.0, 1.0, 4.0]))
def test_requests_of_all_to_all_take_as_long(work: float, variation: float, apart: bool) -> None:
    for wire in WIRES:
        check(all_to_all_pattern(work, 4), wire, variation, apart)
    check(all_to_all_pattern(work, 16), 0.25, variation, apart, seed=1)


@APART
def test_requests_of_clients_take_as_long(apart: bool) -> None:
    for servers, variation in itertools.product((1, 3, 7), (0.0, 1.0)):
        check(client_server_pattern(4.0, 8, servers), 0.25, variation, apart, each=15)


@APART
@pytest.mark.parametrize("hops", [2.0, 1.5])
def test_requests_of_several_hops_take_as_long(hops: float, apart: bool) -> None:
    for work, variation in itertools.product((0.0, 1.0), (0.0, 2.0)):
        check(several_hops(work, 8, hops), 0.25, variation, apart)


@APART
def test_events_at_the_same_time_have_the_same_order(apart: bool) -> None:
    """All times are constant, so that many messages arrive at once."""
    for work, wire in itertools.product((0.0, 1.0, 2.0), (0.0, 1.0)):
        check(all_to_all_pattern(work, 6), wire, 0.0, apart, of_work=0.0, each=20)


def test_processors_of_different_speeds_take_as_long() -> None:
    work, visits = all_to_all_pattern(1.0, 5)
    speeds = np.array([1.0, 2.0, 0.5, 3.0, 1.0]) * OCCUPANCY
    setting = checked_setting(work * speeds, visits, 0.5 * OCCUPANCY, speeds, 1.0, False)
    simulated, until = ends_by_simulation(setting, 20, 1.0, 3)
    assert ends_by_program(setting, until, 1.0, 3) == simulated


def test_other_luck_is_noticed() -> None:
    """The comparison can fail: another seed, a longer wire, and another order of messages give other times."""
    work, visits = all_to_all_pattern(1.0, 4)
    setting = checked_setting(work * OCCUPANCY, visits, 0.25 * OCCUPANCY, OCCUPANCY, 1.0, False)
    longer = checked_setting(work * OCCUPANCY, visits, 0.25 * OCCUPANCY + 1, OCCUPANCY, 1.0, False)
    simulated, until = ends_by_simulation(setting, 8, 1.0, 0)
    assert ends_by_program(setting, until, 1.0, 1) != simulated
    assert ends_by_program(longer, until, 1.0, 0) != simulated


def test_one_channel_keeps_the_order_of_arrival_on_both_networks() -> None:
    """Processor 1 sends alternately on both networks, while processor 0 computes in a handler."""

    def program(proc: smp.Processor) -> list[int]:
        came: list[int] = []

        def note(message: smp.Message, k: int) -> None:
            came.append(k)
            proc.work(cycles=1000)

        noted = proc.handler(note)
        for k in range(8 * proc.rank):
            proc.send(0, noted, k, on=smp.LEFT if k % 3 else smp.RIGHT)
        proc.quiet()
        return came

    with smp.emulated(2, machine=model_machine(40.0)) as machine:
        assert machine.run(program).results[0] == list(range(8))


@pytest.mark.slow
@APART
@pytest.mark.parametrize("processors", [4, 16, 32, 64])
def test_requests_take_as_long_in_all_settings(processors: int, apart: bool) -> None:
    for variation, work, wire in itertools.product(VARIATIONS, WORKS, WIRES):
        check(all_to_all_pattern(work, processors), wire, variation, apart, each=25)


@pytest.mark.slow
@APART
def test_requests_of_clients_take_as_long_for_every_number_of_servers(apart: bool) -> None:
    for servers, work in itertools.product(range(1, 32), (200.0, 1000.0, 5000.0)):
        check(client_server_pattern(work / 131.0, 32, servers), 40.0 / 131.0, 0.0, apart, each=25)
        check(client_server_pattern(work / 131.0, 32, servers), 40.0 / 131.0, 1.0, apart, each=25)


@pytest.mark.slow
@APART
def test_requests_of_two_hops_take_as_long(apart: bool) -> None:
    for variation, work, wire in itertools.product(VARIATIONS, WORKS, WIRES):
        check(several_hops(work, 16, 2.0), wire, variation, apart, each=25)
