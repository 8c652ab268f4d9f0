"""Communication patterns of Brewer's thesis, chapter 7, on the network of an emulated machine."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.emulated.interconnect import Blocks, Interconnect, Outcome
from smp.machines import MachineFile, load

NODES, PAYLOAD = 64, 16
TOTAL = 32 * 4096
"""Bytes that a node sends in figures 7-6, 7-8 and 7-9, whatever the size of a block."""
LIMIT = 512
"""Bytes between two barriers, in equation 52."""
OPEN = 8
"""Transfers that are open at a time when packets are interleaved."""
SPREAD = 30.0
"""Cycles in which the nodes begin: about a turn of the loop in which they have waited for the start."""
Targets = NDArray[np.int64]


@dataclass(frozen=True)
class Loop:
    """The loop that sends a block: which library, its polls, and its wait after a packet that met no arrival."""

    name: str
    poll: str = "empty"
    wait: float = 0.0
    machine: str = "cm5"


PLAIN = Loop("no wait")
MATCHED = Loop("matched", wait=28.0)
ONCE = Loop("matched, poll once", poll="once", wait=35.0)
CMMD = Loop("CMMD", machine="cmmd")


@functools.cache
def machine_of(name: str) -> MachineFile:
    return load(name)


def shift(offset: int, nodes: int = NODES) -> Targets:
    """Return a cyclic shift (equation 49)."""
    return ((np.arange(nodes) + offset) % nodes)[:, None]


def exchange(bit: int, nodes: int = NODES) -> Targets:
    """Return the exchange along one dimension of a hypercube (equation 50)."""
    return (np.arange(nodes) ^ bit)[:, None]


def transpose(rounds: int, nodes: int = NODES) -> Targets:
    """Return cyclic shifts by 0, 1, 2, ..."""
    return (np.arange(nodes)[:, None] + np.arange(rounds)) % nodes


def random_targets(rounds: int, seed: int, nodes: int = NODES) -> Targets:
    return np.random.default_rng([seed, 7]).integers(0, nodes, (nodes, rounds))


def shuffled(targets: Targets, count: int, seed: int) -> Targets:
    """Return targets whose order is random within each group of ``count``, and different on each node."""
    draws = np.random.default_rng([seed, 8])
    parts = [targets[:, first : first + count] for first in range(0, targets.shape[1], count)]
    return np.concatenate([draws.permuted(part, axis=1) for part in parts], axis=1)


def send(
    targets: Targets, size: int, loop: Loop, seed: int, machine: MachineFile | None = None, **more: Any
) -> Outcome:
    """Send a block of ``size`` bytes to each target."""
    sampling = {name: more.pop(name) for name in ("sample_every", "samples") if name in more}
    network: dict[str, Any] = {name: more.pop(name) for name in ("drawn_first",) if name in more}
    blocks = Blocks(targets=targets, packets=size // PAYLOAD, poll=loop.poll, wait=loop.wait, spread=SPREAD)
    net = Interconnect(machine or machine_of(loop.machine), targets.shape[0], seed=seed, **network)
    return net.run(replace(blocks, **more), **sampling)


def rate(targets: Targets, size: int, loop: Loop, seed: int = 0, **more: Any) -> float:
    """Return the MB/s of a node, in one direction, until the last node is done."""
    return targets.shape[1] * size / float(send(targets, size, loop, seed, **more).seconds.max()) / 1e6


def rates(targets: Targets, size: int, loop: Loop, seeds: int, **more: Any) -> NDArray[np.float64]:
    """Return the rates with several seeds."""
    return np.array([rate(targets, size, loop, seed, **more) for seed in range(seeds)])


def rounds_of(size: int) -> int:
    """Return how many blocks of a size make up the total."""
    return TOTAL // size


def barriers(size: int) -> int:
    """Return the number of transfers between two barriers (equation 52)."""
    return -(-LIMIT // size)


def capacity(nodes: int, seed: int, machine: MachineFile, **network: Any) -> float:
    """Return how many packets a node puts into the network on average, while no node receives."""
    blocks = Blocks(targets=random_targets(400, seed, nodes), packets=1, poll="none")
    return float(Interconnect(machine, nodes, seed=seed, **network).saturate(blocks).sent.mean())


def with_higher_levels(machine: MachineFile) -> MachineFile:
    """Return the CM-5 with a fourth level, whose links carry 5 MB/s of data a node, as public descriptions say."""
    return machine.replace("network.links", [1, 2, 4, 16]).replace("network.link_bandwidth", [25e6, 50e6, 100e6, 400e6])
