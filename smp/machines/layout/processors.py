"""Tables of a machine file that describe the processors: clock, prices of local work, streams, shared words."""

from __future__ import annotations

from dataclasses import dataclass, field

from .settings import CYCLES, FLAG, Number, number_of, setting, table

PER_BYTE = Number("cycles")


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Table ``[clock]``: the clock whose cycles are the unit of all times."""

    hz: float = setting(Number("Hz", least=1), "cycles in a second")
    drift: float = setting(Number(), "largest part by which the clocks of two processors differ in speed", default=0)
    interrupt_every: float | None = setting(
        Number("cycles", least=1), "time between two timer interrupts; without it there are none", default=None
    )
    interrupt_cost: float | None = setting(CYCLES, "time that a timer interrupt takes from the program", default=None)


@dataclass(frozen=True, kw_only=True)
class Ops:
    """Table ``[processor.ops]``: the price of each operation of a local computation."""

    load: float = setting(CYCLES, "load of a word that is in the cache")
    store: float = setting(CYCLES, "store of a word")
    int: float = setting(CYCLES, "addition or comparison of whole numbers")
    mul: float = setting(CYCLES, "multiplication of whole numbers")
    div: float = setting(CYCLES, "division of whole numbers")
    flop: float = setting(CYCLES, "addition or multiplication of numbers with a point")
    fdiv: float = setting(CYCLES, "division of numbers with a point")
    branch: float = setting(CYCLES, "branch")
    call: float = setting(CYCLES, "call of a function, and the return from it")


@dataclass(frozen=True, kw_only=True)
class Clear:
    """Table ``[processor.clear]``: the time to set memory to zero."""

    start: float = setting(CYCLES, "time that does not depend on the length")
    per_byte: float = setting(PER_BYTE, "time for each byte")


@dataclass(frozen=True, kw_only=True)
class Processor:
    """Table ``[processor]``: prices of local computation."""

    ops: Ops = field(metadata=table(Ops, "prices of single operations"))
    copy_per_byte: float = setting(PER_BYTE, "time to copy a byte from memory to memory")
    clear: Clear | None = field(default=None, metadata=table(Clear, "time to set memory to zero"))
    interrupt: float = setting(CYCLES, "time from an interrupt to the first instruction of its handler", default=0)


@dataclass(frozen=True, kw_only=True)
class Trap:
    """Table ``[streams.trap]``: the work of moving a waiting thread off its stream."""

    save_words: float = setting(number_of("words"), "words of state that are saved, and later restored")
    instructions: float = setting(number_of("instruction words", 0), "instruction words of the trap")
    per_instruction: float = setting(CYCLES, "time of such an instruction word")


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Table ``[streams]``: a processor that runs many threads in hardware and takes its next instruction from any."""

    count: int = setting(number_of("streams"), "streams of a processor")
    issue_spacing: float = setting(CYCLES, "least time between two instruction words of a stream")
    outstanding: int = setting(number_of("memory operations"), "memory operations that a stream may have under way")
    retries: int = setting(number_of("accesses"), "accesses to a cell that is not ready, before the stream traps")
    retries_issue: bool = setting(FLAG, "true if a repeated access takes an issue slot of the processor", default=False)
    trap: Trap = field(metadata=table(Trap, "work of a trap"))
    create: float = setting(CYCLES, "time to start a stream through the runtime")
    background: int = setting(number_of("streams", 0), "streams of the runtime that are always ready", default=0)


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Table ``[switch]``: a processor with several sets of registers that changes the thread at a cache miss."""

    context_switch: float = setting(CYCLES, "time to change to another thread")
    contexts: int = setting(number_of("contexts"), "threads whose registers the processor holds")


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """Table ``[primitives]``: fixed charges for shared words, for a machine whose memory is not described."""

    load: float = setting(CYCLES, "load")
    store_release: float = setting(CYCLES, "store after which earlier stores can be seen")
    store: float = setting(CYCLES, "store in one order for all processors")
    exchange: float = setting(CYCLES, "exchange")
    compare_exchange: float = setting(CYCLES, "compare-exchange")
    compare_exchange_pair: float = setting(CYCLES, "compare-exchange of two words")
    fetch_add: float = setting(CYCLES, "fetch-add")
    pause: float = setting(CYCLES, "pause between two looks")
    futex_wait: float = setting(CYCLES, "going to sleep")
    futex_wake: float = setting(CYCLES, "waking others")
    woken: float = setting(CYCLES, "being woken")
    clock: float = setting(CYCLES, "reading the clock")
    copied_byte: float = setting(PER_BYTE, "byte of a superstep's copies")
    looped_byte: float = setting(PER_BYTE, "byte of the arrays of a loop over local data")
