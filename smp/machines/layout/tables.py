"""All tables of a machine file, as one frozen dataclass with a field for each."""

from __future__ import annotations

from dataclasses import dataclass, field

from .communication import Block, Control, Interface, Message, Network, Protocol
from .memory import Memory
from .processors import Clock, Primitives, Processor, Streams, Switch
from .results import Result
from .settings import Text, entries, number_of, setting, table
from .values import Frozen


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables of a machine file, without the operations on them."""

    name: str = setting(Text(), "name of the machine")
    processors: int = setting(number_of("processors"), "processors, if the user gives no number")
    source: str = setting(Text(), "publication that the machine is from", default="")
    note: str = setting(Text(), "what the description leaves out", default="")
    clock: Clock = field(metadata=table(Clock, "the clock"))
    processor: Processor | None = field(default=None, metadata=table(Processor, "prices of local computation"))
    loops: Frozen[Frozen[float]] = field(
        default_factory=Frozen, metadata=entries(False, "declared times of named loops")
    )
    message: Message | None = field(default=None, metadata=table(Message, "processor time of messages"))
    block: Block | None = field(default=None, metadata=table(Block, "transfer of blocks"))
    interface: Interface | None = field(default=None, metadata=table(Interface, "queues of a node"))
    network: Network | None = field(default=None, metadata=table(Network, "wires and switches"))
    control: Control | None = field(default=None, metadata=table(Control, "synchronisation"))
    memory: Memory | None = field(default=None, metadata=table(Memory, "shared memory"))
    protocol: Protocol | None = field(default=None, metadata=table(Protocol, "hardware for handlers"))
    streams: Streams | None = field(default=None, metadata=table(Streams, "many threads in hardware"))
    switch: Switch | None = field(default=None, metadata=table(Switch, "change of thread at a cache miss"))
    primitives: Primitives | None = field(default=None, metadata=table(Primitives, "fixed charges for shared words"))
    published: Frozen[Result] = field(
        default_factory=Frozen, metadata=entries(True, "published results, for comparison")
    )
    sources: Frozen[str] = field(default_factory=Frozen)
