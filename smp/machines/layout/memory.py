"""Tables of a machine file that describe shared memory: none, a directory, a bus, or words spread over modules."""

from __future__ import annotations

from dataclasses import dataclass, field

from .settings import BYTES, CYCLES, FLAG, Choice, number_of, setting, table


@dataclass(frozen=True, kw_only=True)
class HotSpot:
    """Table ``[memory.hot_spot]``: a small cache in front of the memory modules."""

    words: int = setting(number_of("words"), "words in the caches of all modules together")
    time: float = setting(CYCLES, "time of an access to a word in the cache")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Table ``[memory]``: shared memory, where there is one."""

    shared: str = setting(Choice(("none", "directory", "flat", "bus")), "form of the shared memory")
    line: int | None = setting(BYTES, "bytes of a cache line", default=None)
    cache: int | None = setting(BYTES, "bytes of a processor's cache", default=None)
    ways: int | None = setting(
        number_of("lines"), "places in which a line can be in a cache; without it 1", default=None
    )
    read_per_byte: float | None = setting(
        CYCLES, "time of a byte that a copy reads, with its line in the cache; without it copy_per_byte", default=None
    )
    write_per_byte: float | None = setting(
        CYCLES, "time of a byte that a copy writes, with its line in the cache; without it copy_per_byte", default=None
    )
    local_miss: float | None = setting(CYCLES, "miss in the own memory, or in memory on the bus", default=None)
    remote_clean: float | None = setting(CYCLES, "miss in another node's memory, clean there", default=None)
    remote_dirty2: float | None = setting(CYCLES, "miss with the line in the cache of its home or asker", default=None)
    remote_dirty3: float | None = setting(CYCLES, "miss with the line in the cache of a third node", default=None)
    directory_pointers: int | None = setting(
        number_of("pointers"), "sharers of a line that the hardware records", default=None
    )
    software_trap: float | None = setting(CYCLES, "miss with more sharers, by software", default=None)
    modules: int | None = setting(number_of("modules"), "memory modules", default=None)
    module_time: float | None = setting(CYCLES, "time of an access in its module", default=None)
    hot_spot: HotSpot | None = field(default=None, metadata=table(HotSpot, "caches of the modules"))
    hash: bool | None = setting(FLAG, "true if addresses are spread over the modules at random", default=None)
    banks: int | None = setting(number_of("banks"), "accesses that a module serves at the same time", default=None)
