"""Small machines with networks of packets, whose times can be computed by hand: a cycle takes 1 ns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import smp
from smp._runtime.emulated.interconnect import Interconnect

NANO = 1000  # ps
HOP, ON_LINK = 3, 10
KINDS = ("fat-tree", "mesh", "torus3", "hypercube", "switch", "bus", "ideal")
_OF_KIND: dict[str, dict[str, Any]] = {
    "fat-tree": {"arity": 2, "links": [1, 2, 2], "routing": "up-random"},
    "mesh": {"routing": "dimension"},
    "torus3": {"routing": "dimension"},
    "hypercube": {"routing": "dimension"},
    "switch": {"routing": "source"},
}


def machine(kind: str, processors: int, **changes: Any) -> smp.machines.MachineFile:
    """Return a machine with queues of one packet and links of 10 cycles a packet; ``changes`` replace settings."""
    network: dict[str, Any] = {"kind": kind, "hop": HOP, **_OF_KIND.get(kind, {})}
    if kind != "ideal":
        network["link_cycles_per_packet"] = ON_LINK
    if kind not in ("bus", "ideal"):
        network["buffers"] = 1
    made = smp.machines.load(
        {
            "name": kind,
            "processors": processors,
            "clock": {"hz": 1e9},
            "message": {
                "notify": "poll",
                "request": 20,
                "rpc": 20,
                "inject": 20,
                "receive": 30,
                "poll_empty": 5,
                "payload": 16,
                "words": 4,
            },
            "block": {"dma": False, "start": 8, "per_packet": 20},
            "interface": {"out_fifo": 1, "in_fifo": 1},
            "network": network,
            "control": {
                "kind": "tree",
                "barrier": 40,
                "global_or": 40,
                **{name: {"start": 1, "per_word": 1} for name in ("combine", "broadcast")},
            },
        }
    )
    for name, value in changes.items():
        made = made.replace(name.replace("__", "."), value)
    return made


def network(kind: str, processors: int, seed: int = 1, fidelity: str = "contention", **changes: Any) -> Interconnect:
    """Return a network of such a machine."""
    return Interconnect(machine(kind, processors, **changes), seed=seed, fidelity=fidelity)


def shifts(nodes: int, rounds: int, first: int = 0) -> NDArray[np.int64]:
    """Return targets: in each round, another cyclic shift."""
    return (np.arange(nodes)[:, None] + np.arange(first, first + rounds)) % nodes
