"""The machines that come with smp: their numbers are those of the papers, and each number has a source."""

import pickle
import re
from dataclasses import asdict
from functools import reduce
from typing import Any

import pytest

import smp
from smp.machines import MachineFile
from smp.machines.walking import settings_of

NAMES = ("alewife", "atm", "balance", "cm5", "cmmd", "flat", "ipsc1", "mta", "mta-333", "paragon", "paragon-measured")
SIMULATED = {
    "message.words": 20,
    "processor.interrupt": 5.33,
    "clock.hz": 33_000_000,
    "control.kind": "none",
}
VALUES: dict[str, dict[str, Any]] = {
    "cm5": {
        "processors": 64,
        "clock.hz": 33_000_000,
        "message.notify": "poll",
        "message.payload": 16,
        "message.words": 4,
        "network.cell.size": 20,
        "network.cell.payload": 16,
        "message.receive": 62,
        "message.inject": 37,
        "message.poll_empty": 10,
        "message.request": 68,
        "message.rpc": 44,
        "processor.interrupt": 70,
        "control.kind": "tree",
        "control.barrier": 140,
        "control.combine.start": 110.1,
        "control.combine.per_word": 47.5,
        "control.combine.per_level": 0,
        "control.broadcast.per_word": 49,
        "processor.clear.start": 69.28,
        "processor.clear.per_byte": 1.005,
        "network.kind": "fat-tree",
        "network.arity": 4,
        "network.hop": 14.4 / 2,
        "network.link_bandwidth": (25e6, 50e6, 100e6),  # of whole packets; printed are 20, 40 and 80 MB/s of data
        "network.routing": "up-random",
        "interface.channels": 2,
        "memory.shared": "none",
    },
    "cmmd": {
        "clock.hz": 33_000_000,
        "control.barrier": 170,
        "control.combine.per_word": 241,
        "control.broadcast.per_word": 150,
        "message.request": 67,
        "message.poll_empty": 45,
        "network.arity": 4,
    },
    "alewife": SIMULATED
    | {
        "message.request": 33,
        "message.rpc": 33,
        "network.hop": 2.552 / 2,
        "processor.clear.start": 66.59,
        "processor.clear.per_byte": 1.382,
        "network.kind": "mesh",
        "network.link_bandwidth": (44e6,),
        "block.dma": True,
        "interface.in_fifo": 512,
        "interface.counted_in": "bytes",
        "memory.shared": "directory",
        "memory.line": 16,
        "memory.cache": 64 * 1024,
        "memory.local_miss": 11,
        "memory.remote_clean": 38,
        "memory.remote_dirty2": 42,
        "memory.remote_dirty3": 63,
        "memory.software_trap": 425,
        "memory.directory_pointers": 5,
        "switch.context_switch": 14,
    },
    "paragon": SIMULATED
    | {
        "message.request": 143,
        "message.rpc": 142.3,
        "network.hop": 11.23 / 2,
        "processor.clear.start": 66.58,
        "processor.clear.per_byte": 1.383,
        "network.link_bandwidth": (175e6,),
        "block.dma": True,
        "interface.in_fifo": 8192,
    },
    "atm": SIMULATED
    | {
        "message.request": 1130,
        "message.rpc": 1131,
        "network.hop": 61.89 / 2,
        "processor.clear.per_byte": 1.383,
        "network.kind": "switch",
        "network.cell.size": 53,
        "network.cell.payload": 48,
        "network.link_bandwidth": (17.5e6,),
        "block.bandwidth": 5.5e6,
        "interface.in_fifo": 16384,
        "interface.overflow": "stall",
    },
    "paragon-measured": {"clock.hz": 50_000_000, "message.request": 25 * 50, "block.bandwidth": 90e6},
    "mta": {
        "clock.hz": 260_000_000,
        "processors": 4,
        "streams.count": 128,
        "streams.issue_spacing": 21,
        "streams.outstanding": 8,
        "streams.retries": 1024,
        "streams.trap.save_words": 70,
        "streams.trap.instructions": 1010,
        "streams.trap.per_instruction": 30,
        "streams.create": 27_200,
        "memory.shared": "flat",
        "memory.hot_spot.words": 256,
        "memory.hot_spot.time": 2,
        "memory.hash": True,
        "network.kind": "torus3",
    },
    "mta-333": {"clock.hz": 333_000_000, "streams.count": 128},
    "ipsc1": {"processors": 16, "network.kind": "hypercube", "interface.overflow": "drop"},
    "balance": {"processors": 16, "network.kind": "bus", "memory.shared": "bus"},
    "powerchallenge": {
        "processors": 16,
        "clock.hz": 195_000_000,
        "memory.line": 128,
        "memory.cache": 2 * 1024 * 1024,
        "network.link_bandwidth": (1.2e9,),
        "memory.shared": "bus",
    },
    "flat": {"clock.hz": 1_000_000_000},
}
PUBLISHED = [
    ("cm5", "round_trip", {"constant": 404.2, "per_hop": 14.4}, "cycles"),
    ("cm5", "two_way_limit", {"constant": 5.93}, "MB/s"),
    ("cm5", "one_way_limit", {"constant": 8.52}, "MB/s"),
    ("cm5", "send_and_receive", {"constant": 89}, "cycles"),
    ("cm5", "send_poll_nothing", {"constant": 43}, "cycles"),
    ("cm5", "poll_till_empty", {"constant": 22}, "cycles"),
    ("cm5", "combine_word", {"constant": 150}, "cycles"),
    ("cm5", "broadcast_word", {"constant": 90}, "cycles"),
    ("cm5", "capacity", {"constant": 10}, "packets"),
    ("cmmd", "combine_word", {"constant": 380}, "cycles"),
    ("cmmd", "broadcast_word", {"constant": 230}, "cycles"),
    ("cmmd", "broadcast_double", {"constant": 380}, "cycles"),
    ("alewife", "round_trip", {"constant": 207.6, "per_hop": 2.552}, "cycles"),
    (
        *("alewife", "combine_vector"),
        {"constant": 181.5, "per_word": 75.98, "per_level": 288.3, "per_word_level": 89.05},
        "cycles",
    ),
    ("paragon", "round_trip", {"constant": 302.5, "per_hop": 11.23}, "cycles"),
    (
        *("paragon", "combine_vector"),
        {"constant": 203.9, "per_word": 78.23, "per_level": 332.7, "per_word_level": 89.82},
        "cycles",
    ),
    ("atm", "round_trip", {"constant": 2032, "per_hop": 61.89}, "cycles"),
    ("atm", "combine_vector", {"constant": 2678, "per_word": 68.51, "per_word_level": 122.7}, "cycles"),
    ("paragon-measured", "user_to_user", {"low": 25, "high": 50}, "us"),
    ("paragon-measured", "bandwidth", {"low": 90, "high": 170}, "MB/s"),
    ("mta", "memory_latency", {"constant": 170}, "cycles"),
    ("mta", "hot_spot_latency", {"constant": 115}, "cycles"),
    ("mta", "counted_retries", {"constant": 1023}, "times"),
    ("mta", "remap", {"constant": 172_000, "deviation": 15_500}, "cycles"),
    ("mta", "remap_alone", {"constant": 53_900}, "cycles"),
    ("mta", "stream_start", {"constant": 27_200, "deviation": 972}, "cycles"),
]


def value_of(machine: MachineFile, name: str) -> Any:
    return reduce(getattr, name.split("."), machine)


def test_the_shipped_machines_are_these() -> None:
    assert smp.machines.names() == (*NAMES, "powerchallenge")
    assert set(VALUES) == set(smp.machines.names())


@pytest.mark.parametrize("name", smp.machines.names())
def test_every_shipped_machine_loads_by_its_name(name: str) -> None:
    machine = smp.machines.load(name)
    assert machine.name == name
    assert machine.source
    assert "eft out" in machine.note.replace("\n", " ")
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert hash(machine) == hash(smp.machines.load(name))


@pytest.mark.parametrize("name", smp.machines.names())
def test_every_value_of_a_shipped_machine_has_a_source(name: str) -> None:
    machine = smp.machines.load(name)
    given = [one.name for one in settings_of(machine) if one.name in machine.sources]
    assert set(given) == set(machine.sources)
    assert [one for one in given if machine.sources[one] in ("", "of the user")] == []


@pytest.mark.parametrize("name", smp.machines.names())
def test_sources_name_a_publication_or_say_that_they_do_not(name: str) -> None:
    named = re.compile(
        r"assumption|not checked: |public source: |set from |Brewer 1994, |LoPC \(Frank 1997\), |Riedy and Vuduc 1999, "
        r"|SMP cost study, |synthetic-perturbation tuning \(Lyon et al\. 1993\), "
    )
    sources = smp.machines.load(name).sources
    if name != "flat":  # its numbers are of a computer of today, and their sources say how they were measured
        assert [(key, source) for key, source in sources.items() if not named.match(source)] == []


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [(name, setting, value) for name, values in VALUES.items() for setting, value in values.items()],
)
def test_settings_are_those_of_the_papers(name: str, setting: str, value: Any) -> None:
    assert value_of(smp.machines.load(name), setting) == pytest.approx(value)


@pytest.mark.parametrize(("name", "result", "terms", "unit"), PUBLISHED)
def test_published_results_are_those_of_the_papers(name: str, result: str, terms: dict[str, float], unit: str) -> None:
    found = smp.machines.load(name).published[result]
    assert dict(found.terms) == terms
    assert found.unit == unit


def test_the_limits_of_the_cm5_follow_from_its_settings() -> None:
    cm5 = smp.machines.load("cm5")
    message, megahertz = cm5.message, cm5.clock.hz / 1e6
    assert message
    both = message.inject + message.receive - message.poll_empty
    assert both == cm5.published["send_and_receive"].terms["constant"]
    assert message.payload / both * megahertz == pytest.approx(5.93, abs=0.005)
    assert message.payload / message.receive * megahertz == pytest.approx(8.52, abs=0.005)


@pytest.mark.parametrize("name", ["alewife", "paragon", "atm"])
def test_one_way_of_the_round_trip_is_sending_a_word_on_the_link_interrupt_and_receiving(name: str) -> None:
    machine = smp.machines.load(name)
    message, processor, network = machine.message, machine.processor, machine.network
    assert message
    assert processor
    assert network
    sent = message.request if message.inject_at is None else message.inject_at
    word = network.cell.size if network.cell else 4
    link = word * machine.clock.hz / network.link_bandwidth[0]
    one_way = sent + link + processor.interrupt + message.receive
    assert one_way == pytest.approx(machine.published["round_trip"].terms["constant"] / 2, abs=0.1)


def test_broadcasts_and_scans_of_cmmd_take_the_published_times() -> None:
    control = smp.machines.load("cmmd").control
    assert control
    assert control.combine
    assert control.broadcast
    assert control.combine.start + control.combine.per_word == 380
    assert [control.broadcast.start + n * control.broadcast.per_word for n in (1, 2)] == [230, 380]


def test_both_latencies_of_the_mta_follow_from_its_settings() -> None:
    mta = smp.machines.load("mta")
    assert mta.network
    assert mta.memory
    assert mta.memory.hot_spot
    assert mta.memory.module_time
    assert 2 * mta.network.latency + mta.memory.module_time == mta.published["memory_latency"].terms["constant"]
    assert 2 * mta.network.latency + mta.memory.hot_spot.time == mta.published["hot_spot_latency"].terms["constant"]


def test_the_two_clocks_of_the_mta_are_the_only_difference() -> None:
    mta, nominal = smp.machines.load("mta"), smp.machines.load("mta-333")
    settings = {one.name: one.value for one in settings_of(mta)}
    others = {one.name: one.value for one in settings_of(nominal)}
    assert {name for name in settings if settings[name] != others[name]} == {"clock.hz"}


def test_the_flat_machine_has_the_charges_of_emulated_machines() -> None:
    flat = smp.machines.load("flat")
    assert flat.primitives
    assert asdict(flat.primitives) == asdict(smp.Charges())
    assert flat.clock.hz == 1_000_000_000  # a cycle is a nanosecond, the unit of charges


def test_the_ipsc1_sends_again_after_the_time_of_the_congested_network() -> None:
    ipsc1, network = smp.machines.load("ipsc1"), smp.networks.congested()
    assert ipsc1.interface
    assert ipsc1.message
    assert ipsc1.network
    assert ipsc1.network.link_bandwidth
    ns = 1e9 / ipsc1.clock.hz
    assert ipsc1.interface.resend_after == network.timeout / ns
    assert ipsc1.message.request == network.latency / ns
    assert 8 / ipsc1.network.link_bandwidth[0] * 1e9 == network.per_word
