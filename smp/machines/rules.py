"""Rules about several settings of a machine file together: what needs what, and what excludes what."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .layout.communication import ROUTING, Network
from .layout.settings import Refused
from .layout.tables import Tables
from .walking import all_names

NEEDS = {
    "message": ("interface", "network", "control"),
    "block": ("message",),
    "interface": ("message",),
    "control": ("message",),
    "streams": ("memory",),
    "switch": ("memory",),
}
"""Tables that a table needs."""
MEMORY = {
    "none": ((), ()),
    "directory": (
        ("line", "cache", "local_miss", "remote_clean", "remote_dirty2", "remote_dirty3"),
        ("ways", "read_per_byte", "write_per_byte", "directory_pointers", "software_trap"),
    ),
    "flat": (("modules", "module_time", "hash", "banks"), ("hot_spot",)),
    "bus": (("line", "cache", "local_miss"), ("ways", "read_per_byte", "write_per_byte")),
}
"""For each form of shared memory, the keys that it needs and those that it may have."""
CONTROL = {"tree": ("barrier", "combine", "broadcast", "global_or"), "none": ("fan_out",)}
"""For each kind of control network, the keys that it needs."""
FORMULAS = ("combine", "broadcast")
"""Keys that a machine without a control network may have, too: what its collectives of messages take."""
LINKS = ("links", "link_bandwidth", "link_cycles_per_packet", "buffers", "routing")


def check(tables: Tables) -> None:
    """Refuse a description whose settings do not go together.

    Raises
    ------
    Refused
    """
    for one in (_communication, _tables, _network, _memory, _control, _rest, _results):
        one(tables)


def _communication(tables: Tables) -> None:
    shared = tables.memory is not None and tables.memory.shared != "none"
    if not (tables.message or shared or tables.primitives):
        raise Refused("has no way for processors to communicate: add the table [message], [memory] or [primitives]")


def _tables(tables: Tables) -> None:
    for one, needed in NEEDS.items():
        for other in needed:
            if getattr(tables, one) is not None and getattr(tables, other) is None:
                raise Refused(f"needs the table [{other}], which is missing", one)


def _network(tables: Tables) -> None:
    network = tables.network
    if network is None:
        return
    kind = network.kind
    bare = kind == "ideal"
    wanted = {"arity": kind == "fat-tree", "buffers": not bare and kind != "bus", "routing": kind in ROUTING}
    _exact(network, wanted, f"a network of the kind {kind!r}", "network")
    if bare:
        _without(network, LINKS, "an ideal network has no links that could fill", "network")
    elif (network.link_bandwidth is None) == (network.link_cycles_per_packet is None):
        raise Refused("needs either link_bandwidth or link_cycles_per_packet, and not both", "network")
    if kind in ROUTING and network.routing != ROUTING[kind]:
        raise Refused(
            f"is {network.routing!r}; for a network of the kind {kind!r} it must be {ROUTING[kind]!r}",
            *("network", "routing"),
        )
    _shape(network, tables.processors)
    if network.cell and network.cell.payload > network.cell.size:
        raise Refused(
            f"is {network.cell.payload}; it must be at most {network.cell.size}, the size of the cell",
            *("network", "cell", "payload"),
        )


def _shape(network: Network, processors: int) -> None:
    dimensions = {"mesh": 2, "torus3": 3}.get(network.kind)
    if network.kind == "hypercube" and processors & (processors - 1):
        raise Refused(f"is {processors}; the nodes of a hypercube must be a power of two", "processors")
    if network.shape is None:
        return
    path = ("network", "shape")
    if dimensions is None:
        raise Refused(f"stands here for nothing: a network of the kind {network.kind!r} has no dimensions", *path)
    shape = list(network.shape)
    if len(shape) != dimensions:
        raise Refused(f"is {shape}; a {network.kind} has {dimensions} dimensions", *path)
    if math.prod(shape) != processors:
        raise Refused(
            f"is {shape}, which is {math.prod(shape)} nodes for {processors} processors: change one of them, or leave "
            "the shape out",
            *path,
        )


def _memory(tables: Tables) -> None:
    memory = tables.memory
    if memory is None:
        return
    needed, allowed = MEMORY[memory.shared]
    others = {key for form in MEMORY.values() for keys in form for key in keys} - {*needed, *allowed}
    wanted = dict.fromkeys(needed, True) | dict.fromkeys(others, False)
    _exact(memory, wanted, f"shared memory of the form {memory.shared!r}", "memory")
    if memory.shared == "bus" and (tables.network is None or tables.network.kind != "bus"):
        raise Refused("is 'bus'; it needs a table [network] of the kind 'bus'", "memory", "shared")
    per_set = (memory.line or 1) * (memory.ways or 1)
    if memory.cache and memory.cache % per_set:
        raise Refused(
            f"is {memory.cache}; it must be a multiple of {per_set}, the bytes of a line in each of its ways",
            *("memory", "cache"),
        )
    if tables.streams and memory.shared != "flat":
        raise Refused("needs shared memory of the form 'flat'", "streams")


def _control(tables: Tables) -> None:
    control = tables.control
    if control is not None:
        keys = {key: kind == control.kind for kind, needed in CONTROL.items() for key in needed}
        if control.kind == "none":
            keys = {key: wanted for key, wanted in keys.items() if key not in FORMULAS}
        _exact(control, keys, f"control of the kind {control.kind!r}", "control")


def _rest(tables: Tables) -> None:
    clock, message, interface, block = tables.clock, tables.message, tables.interface, tables.block
    if (clock.interrupt_every is None) != (clock.interrupt_cost is None):
        raise Refused("needs both interrupt_every and interrupt_cost, or neither", "clock")
    if clock.drift >= 1:
        raise Refused(f"is {clock.drift}; it must be a part below 1", "clock", "drift")
    if message and message.inject_at is not None and message.inject_at > message.request:
        raise Refused(
            f"is {message.inject_at}; it must be at most {message.request}, the request", "message", "inject_at"
        )
    if interface and (interface.overflow == "drop") != (interface.resend_after is not None):
        raise Refused("needs resend_after if overflow is 'drop', and only then", "interface")
    if tables.primitives and message and interface and interface.overflow != "drop":
        raise Refused(
            "stands next to the table [message], so the machine is one on which packets collide: interface.overflow "
            f"must be 'drop', not {interface.overflow!r}",
            "primitives",
        )
    if tables.primitives and interface and (interface.counted_in, interface.in_fifo) != ("packets", 1):
        raise Refused(
            f"is {interface.in_fifo} {interface.counted_in}; with the table [primitives] it must be 1 packet, and "
            "packets that find it full collide",
            *("interface", "in_fifo"),
        )
    if block and block.dma and block.bandwidth is None:
        raise Refused("needs bandwidth if dma is true", "block")
    if tables.protocol and tables.protocol.processor and not message:
        raise Refused("needs the table [message], whose handlers it runs", "protocol")


def _results(tables: Tables) -> None:
    names = set(all_names(tables))  # also those that the file leaves out: a changed copy may have other keys
    known = names | {name.rpartition(".")[0] for name in names}
    for name, result in tables.published.items():
        for one in result.sets:
            if one not in known:
                raise Refused(
                    f"names {one!r}, which is neither a setting nor a table of settings; write a name such as "
                    "'message.receive'",
                    *("published", name, "sets"),
                )


def _exact(table: Any, wanted: dict[str, bool], what: str, *path: str) -> None:
    """Refuse a table that lacks a key that is wanted, or has one that is not."""
    for key, want in wanted.items():
        if want and getattr(table, key) is None:
            raise Refused(f"is missing, and {what} needs it", *path, key)
    _without(table, [key for key, want in wanted.items() if not want], f"it does not belong to {what}", *path)


def _without(table: Any, keys: Iterable[str], why: str, *path: str) -> None:
    for key in keys:
        if getattr(table, key) is not None:
            raise Refused(f"stands here for nothing: {why}; leave it out", *path, key)
