"""Models of the primitives of Strata on emulated machines, with the terms of figure 6-6 of Brewer's thesis.

    specification    inputs, terms, and a program that returns the virtual seconds of one primitive
    calibrate        runs it, removes irrelevant terms, and tests the model on points that were not fitted

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import smp
from smp._runtime.emulated.message_machine.times import hops
from smp.machines import MachineFile

from .regained import Printed

PHASES = 8
"""Round trips of a measurement; they begin at different moments between two polls of the other processor."""
PROCESSORS = 64
MESSAGES = 10
LONG = 50_000
"""Cycles of a computation that messages interrupt."""


@functools.cache
def opened(machine: MachineFile, processors: int) -> smp.Machine:
    """Return an emulated machine, which stays open."""
    return smp.emulated(processors, machine=machine, fidelity="latency")


@smp.local(name="clear", terms={"byte": "memory.nbytes"}, oblivious=True)
def clear(memory: Any) -> None:
    memory[:] = 0


def round_trip(proc: smp.Processor, to: int) -> float:
    """Return the mean time of a request to another processor and its reply."""
    came: list[int] = []
    pong = proc.handler(lambda message: came.append(message.source))
    ping = proc.handler(lambda message: message.reply(pong), replies=True)
    proc.barrier()
    time = 0.0
    for k in range(PHASES if proc.rank == 0 else 0):
        proc.work(cycles=100 + 10 * k / PHASES)
        start = proc.clock()
        proc.request(to, ping)
        proc.wait_until(lambda k=k: len(came) > k)
        time += proc.clock() - start
    proc.barrier()
    return time / PHASES


def sending(proc: smp.Processor, request: bool) -> float:
    """Return the time to send a message that may or may not be answered."""
    handler = proc.handler(lambda message: None, replies=request)
    proc.barrier()
    start = proc.clock()
    (proc.request if request else proc.send)((proc.rank + 1) % proc.size, handler)
    return proc.clock() - start


def combining(proc: smp.Processor, length: int) -> float:
    """Return the time of a reduction of a vector of words."""
    vector = np.ones(length, np.int32)
    proc.barrier()
    start = proc.clock()
    proc.reduce(vector)
    return proc.clock() - start


def clearing(proc: smp.Processor, length: int) -> float:
    """Return the time to clear a number of bytes."""
    memory = np.ones(length, np.uint8)
    start = proc.clock()
    clear(memory)
    return proc.clock() - start


def computing(proc: smp.Processor) -> float:
    """Return the time of a computation while messages come, and of the messages that are left at its end."""
    came: list[int] = []
    note = proc.handler(lambda message: came.append(message.source))
    proc.barrier()
    start = proc.clock()
    if proc.rank == 0:
        proc.work(cycles=LONG)
        proc.wait_until(lambda: len(came) == MESSAGES)
    else:
        for _ in range(MESSAGES):
            proc.send(0, note)
    return proc.clock() - start


def interrupt_delay(machine: MachineFile) -> float:
    """Return the additional time of a message that interrupts, compared with one that is polled afterwards."""
    times = []
    for notify in ("interrupt", "poll"):
        times.append(first_of(machine.replace("message.notify", notify), 2, computing))
    return (times[0] - times[1]) / MESSAGES


def first_of(machine: MachineFile, processors: int, program: Callable[..., float], *args: Any) -> float:
    """Return the result of processor 0."""
    seconds: float = opened(machine, processors).run(program, *args).results[0]
    return seconds


LEVELS = "log2(processors)"
FIGURE_6_6: dict[str, dict[str, Printed]] = {
    "cm5": {
        "ClearMemory": Printed({"1": 69.28, "length": 1.005}, 2.33),
        "CombineVector": Printed({"1": 110.1, "length": 47.5}, 1.71),
        "Roundtrip": Printed({"1": 404.2, "hops": 14.4}, 0.41),
        "SendRequest": Printed({"1": 68}, 0.02),
        "SendRPC": Printed({"1": 44}, 0.03),
        "InterruptDelay": Printed({"1": 70}, 0.06),
    },
    "alewife": {
        "ClearMemory": Printed({"1": 66.59, "length": 1.382}, 1.46),
        "CombineVector": Printed({"1": 181.5, "length": 75.98, LEVELS: 288.3, f"length * {LEVELS}": 89.05}, 0.48),
        "Roundtrip": Printed({"1": 207.6, "hops": 2.552}, 0.51),
        "SendRequest": Printed({"1": 33}, 0.08),
        "SendRPC": Printed({"1": 33}, 0.11),
        "InterruptDelay": Printed({"1": 5.33}, 0.07),
    },
    "paragon": {
        "ClearMemory": Printed({"1": 66.58, "length": 1.383}, 1.51),
        "CombineVector": Printed({"1": 203.9, "length": 78.23, LEVELS: 332.7, f"length * {LEVELS}": 89.82}, 0.69),
        "Roundtrip": Printed({"1": 302.5, "hops": 11.23}, 0.98),
        "SendRequest": Printed({"1": 143}, 0.147),
        "SendRPC": Printed({"1": 142.3}, 0.062),
        "InterruptDelay": Printed({"1": 5.33}, 0.07),
    },
    "atm": {
        "ClearMemory": Printed({"1": 66.59, "length": 1.383}, 1.41),
        "CombineVector": Printed({"1": 2678, "length": 68.51, f"length * {LEVELS}": 122.7}, 1.56),
        "Roundtrip": Printed({"1": 2032, "hops": 61.89}, 0.96),
        "SendRequest": Printed({"1": 1130}, 0.21),
        "SendRPC": Printed({"1": 1131}, 1.04),
        "InterruptDelay": Printed({"1": 5.33}, 0.07),
    },
}


def specifications(machine: MachineFile, quick: bool) -> dict[str, smp.Specification]:
    """Return the specifications of figure 6-6 for a machine; the terms are the same for all machines."""
    assert machine.network is not None
    distance = hops(machine.network, PROCESSORS)
    farthest = max(distance(0, to) for to in range(PROCESSORS))

    def specified(name: str, inputs: dict[str, str], terms: list[str], task: Callable[..., float], **how: Any) -> Any:
        return smp.Specification(name, inputs, terms, task, clocked=True, **how)

    some = {"processors": "4, 16, 64" if quick else "powers 4..64"}
    return {
        "ClearMemory": specified(
            "ClearMemory",
            {"length": "1..10000 x 14"},
            ["length"],
            lambda length: first_of(machine, 2, clearing, length),
        ),
        "CombineVector": specified(
            "CombineVector",
            {"length": "powers 1..256" if quick else "powers 1..8192", **some},
            ["length", LEVELS, f"length * {LEVELS}"],
            lambda length, processors: first_of(machine, processors, combining, length),
        ),
        "Roundtrip": specified(
            "Roundtrip",
            {"hops": f"linear 1..{max(2, farthest)}"},
            ["hops"],
            lambda to: first_of(machine, PROCESSORS, round_trip, to),
            loops={"to": f"linear 1..{PROCESSORS - 1} x {16 if quick else PROCESSORS - 1}"},
            setup=lambda to: (to,),
            of=lambda to: (distance(0, to),),
        ),
        "SendRequest": specified(
            "SendRequest", some, [LEVELS], lambda processors: first_of(machine, processors, sending, True)
        ),
        "SendRPC": specified(
            "SendRPC", some, [LEVELS], lambda processors: first_of(machine, processors, sending, False)
        ),
        "InterruptDelay": specified("InterruptDelay", some, [LEVELS], lambda processors: interrupt_delay(machine)),
    }
