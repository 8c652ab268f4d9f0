"""The numbers of a machine file, as the compiled core takes them."""

from __future__ import annotations

from typing import NamedTuple

from smp.errors import Unsupported
from smp.machines import MachineFile

from .layout import TICKS, WINDOW

WORD_BYTES = 8


class Settings(NamedTuple):
    """Numbers of a machine with multithreaded processors; times in cycles, or in ticks where that is said."""

    processors: int
    streams: int  # of a processor
    spacing: int  # between two words of a stream
    outstanding: int
    retries: int
    retries_issue: int  # 1 if a retry takes an issue slot
    background: int
    create: int
    save_words: int
    trap_words: int
    trap_spacing: int  # between two words of a trap
    crossing: int  # ticks, one way through the network
    link: int  # ticks of a word on the link of a processor or a module
    buffers: int  # words that a module's link holds
    modules: int
    banks: int  # of a module
    access: int  # ticks of an access in its bank
    hashed: int
    hot_words: int  # in the cache of a module; 0 if there is none
    hot_access: int  # ticks


def settings_of(machine: MachineFile, processors: int | None = None) -> Settings:
    """Return the numbers that the core takes from a machine file.

    Parameters
    ----------
    machine : MachineFile
        A machine with the tables ``[streams]``, ``[memory]`` and ``[network]``.
    processors : int, optional
        Number of processors; by default that of the file.

    Raises
    ------
    Unsupported
        If the machine has no such processors, or its network charges for each hop.
    ValueError
        If a time that processors count is not a whole number of cycles, or there is no processor.
    """
    streams, memory, network = machine.streams, machine.memory, machine.network
    if streams is None or memory is None or network is None:
        raise Unsupported(
            f"the machine {machine.name!r} has no multithreaded processors: its file needs the tables [streams], "
            "[memory] and [network]; 'mta' is a machine that has them"
        )
    if network.hop:
        raise Unsupported(
            f"{machine.name}: network.hop is {network.hop:g} cycles, but multithreaded processors are emulated with "
            "one latency for all distances: put the mean distance into network.latency, and 0 into network.hop"
        )
    count = machine.processors if processors is None else processors
    if count < 1:
        raise ValueError(f"processors={count} must be at least 1")
    if streams.outstanding > WINDOW:
        raise Unsupported(
            f"{machine.name}: streams.outstanding is {streams.outstanding}, but the lookahead allows only {WINDOW}"
        )
    modules, banks, access = memory.modules, memory.banks, memory.module_time
    assert modules is not None and banks is not None and access is not None  # noqa: PT018 - by the rules of the files
    if network.link_cycles_per_packet is not None:
        link = network.link_cycles_per_packet
    else:
        link = machine.clock.hz * WORD_BYTES / network.link_bandwidth[0] if network.link_bandwidth else 0.0
    hot = memory.hot_spot
    return Settings(
        processors=count,
        streams=streams.count,
        spacing=_whole("streams.issue_spacing", streams.issue_spacing),
        outstanding=streams.outstanding,
        retries=streams.retries,
        retries_issue=int(streams.retries_issue),
        background=streams.background,
        create=_whole("streams.create", streams.create),
        save_words=int(streams.trap.save_words),
        trap_words=int(streams.trap.instructions),
        trap_spacing=_whole("streams.trap.per_instruction", streams.trap.per_instruction),
        crossing=round(network.latency * TICKS),
        link=round(link * TICKS),
        buffers=network.buffers or 1,
        modules=modules,
        banks=banks,
        access=round(access * TICKS),
        hashed=int(bool(memory.hash)),
        hot_words=-(-hot.words // modules) if hot else 0,
        hot_access=round(hot.time * TICKS) if hot else 0,
    )


def _whole(name: str, cycles: float) -> int:
    if cycles != int(cycles) or cycles < 1:
        raise ValueError(f"{name} is {cycles:g} cycles, but a processor counts whole cycles, at least one")
    return int(cycles)
