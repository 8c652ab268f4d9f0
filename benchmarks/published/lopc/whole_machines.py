"""Whole machines: what LoPC predicts from measured times, and what the machine does, without contention and with it.

The times of the model are measured on the machine itself: sends and a round trip by the primitives of ``--calibrate
messages``, and a receive by the delay of a processor that computes while messages come.

    S_o    a receive, with the interrupt, and the body of the handler; half of a reply, which one of the two sends
    S_l    half of what a round trip takes beyond its request, its reply and both receives
    W      the work, and the sending of a request
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

import smp
from smp._output.table import Column, Table, text
from smp.machines import MachineFile
from smp.microbench.calibration.primitives import sending
from smp.microbench.calibration.primitives.bench import Bench
from smp.microbench.calibration.primitives.primitive import Effort
from smp.models.lopc import all_to_all

from ..rows import Part, Row
from .runs import FIDELITIES, Case, Found, all_found

NEEDED, WORDS = 4, 2
"""Numbers in a request without padding, and words in each of them."""
BODIES, PADDINGS, SIZES = (50.0, 200.0, 1000.0), (0, 4, 28), (16, 32, 64)
WORK = 1000.0
MESSAGES, COMPUTING = 32, 1e-3
"""Messages that delay a processor, and the seconds for which it computes, which are enough for all of them to come."""
LIMIT, LEAST_BODY = 0.03, 200.0
"""Allowed change of R by contention, and the handlers from which it is allowed: they send at most 8 words."""


@dataclass(frozen=True)
class Times:
    """Times of messages with empty handlers on a machine, in cycles."""

    request: float
    reply: float
    receive: float
    wire: float


@functools.cache
def measured(name: str) -> Times:
    """Measure a machine by the library's own primitives, on two processors."""
    file = smp.machines.load(name)
    effort = Effort(bursts=4, calls=20)
    bench = Bench(lambda p: smp.emulated(p, machine=file, fidelity="latency"), effort)
    by_name = {each.name: each for each in sending.PRIMITIVES}
    request, reply, trip = (
        bench.seconds(by_name[each], 2) * file.clock.hz for each in ("request", "reply", "round trip")
    )
    with smp.emulated(2, machine=file, fidelity="latency") as machine:
        few, many = (machine.run(delay, count).results[0] * file.clock.hz for count in (MESSAGES, 2 * MESSAGES))
    receive = (many - few) / MESSAGES
    return Times(request, reply, receive, (trip - request - reply - 2 * receive) / 2)


def delay(proc: smp.Processor, count: int) -> float:
    """Return the seconds that processor 0 takes for messages of processor 1 that come while it computes."""
    came = [0]
    note = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))
    proc.barrier()
    began = proc.clock()
    if proc.rank:
        for _ in range(count):
            proc.send(0, note)
    else:
        proc.work(seconds=COMPUTING)
        proc.wait_until(lambda: came[0] == count)
    return proc.clock() - began - COMPUTING


def part(name: str, quick: bool) -> Part:
    """Compare a machine with the model, and its network with wires without contention."""
    file, times = smp.machines.load(name), measured(name)
    bodies, paddings, sizes = (BODIES, PADDINGS[:2], SIZES[:1]) if quick else (BODIES, PADDINGS, SIZES)
    settings = list(itertools.product(sizes, bodies, paddings))
    chosen = [_case(file, 500 if quick else 2000, *setting) for setting in settings]
    found = {
        kind: all_found([replace(case, fidelity=kind) for case in chosen], f"{name}, {kind}") for kind in FIDELITIES
    }
    rows = _rows(name, chosen, found["latency"], found["contention"])
    table = _table(name, chosen, found, times)
    data = {
        "measured": vars(times),
        "runs": [
            {"processors": p, "body": body, "words": WORDS * (NEEDED + padding)}
            | {kind: found[kind][k].measured for kind in FIDELITIES}
            | {"lopc": _model(chosen[k], times)}
            for k, (p, body, padding) in enumerate(settings)
        ],
    }
    return Part(f"{name} as a whole", rows, tables=[table], data=data)


def _case(file: MachineFile, cycles: int, processors: int, body: float, padding: int) -> Case:
    return Case(processors, WORK, 0.0, body, 0.0, machine=file, padding=padding, cycles=cycles, slower=1.5)


def _model(case: Case, times: Times) -> float:
    occupancy = times.receive + case.handler + times.reply / 2
    return all_to_all(case.work + times.request, times.wire, occupancy, variation=0.0).response


def _rows(name: str, cases: list[Case], free: list[Found], shared: list[Found]) -> list[Row]:
    changes = [one.measured / other.measured - 1 for one, other in zip(shared, free, strict=True)]
    demanded = [
        change for case, change in zip(cases, changes, strict=True) if case.handler >= LEAST_BODY and not case.padding
    ]
    what = f"change of R by contention, handlers >= {LEAST_BODY:g} cycles, 8 words"
    return [
        Row(name, f"{what}, most", f"{LIMIT:.0%}", 100 * max(map(abs, demanded)), "%", "pred", None, 100 * LIMIT),
        Row(name, "change of R by contention, all settings, most", "", 100 * max(map(abs, changes)), "%", "shown"),
    ]


def _table(name: str, cases: list[Case], found: dict[str, list[Found]], times: Times) -> Table:
    percent = ("%", "fixed", 1, 100.0)
    columns = [
        Column("processors"),
        Column("handler", "cycles"),
        Column("words"),
        Column("R by LoPC", "cycles", "fixed", 0),
    ]
    for kind in found:
        columns += [Column(f"R, {kind}", "cycles", "fixed", 0), Column("error of LoPC", *percent)]
    columns.append(text("remark"))
    rows = []
    for k, case in enumerate(cases):
        model = _model(case, times)
        values = [value for kind in found for value in (found[kind][k].measured, model / found[kind][k].measured - 1)]
        long = WORDS * (NEEDED + case.padding) * 4 > (case.file.message.payload if case.file.message else 0)
        rows.append([case.processors, case.handler, WORDS * (NEEDED + case.padding), model, *values])
        rows[-1].append("several packets" if long else "")
    measured_there = ", ".join(f"{key} {value:.1f}" for key, value in vars(times).items())
    return Table(f"{name}, W = {WORK:g} cycles; measured, in cycles: {measured_there}", tuple(columns), rows)
