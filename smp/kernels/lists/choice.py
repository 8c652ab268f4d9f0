"""Libraries from which list ranking chooses an implementation, see `smp.selection.library`.

    in this process    nodes  --look-->  n, width, far, span  --models-->  serial, fast on 1 stream, fast on all
    on a machine       the same                               --models-->  serial, wyllie, reid-miller, helman-jaja

The serial loop waits for the cache in which the next node lies, so its terms count the links that go far, by how far
they go (see `sampling`).  The other implementations overlap these waits and depend much less on the order of a list.
"""

from __future__ import annotations

import functools
from functools import partial

import numpy as np

from smp import Machine, host
from smp._computer.limits import measuring_cpus
from smp.selection.implementation import Guard, Implementation, Parameter
from smp.selection.kept import recalled
from smp.selection.library import Library, typical

from ..in_process import streams_for
from . import terms
from .fast import rank_fast
from .forms import FORMS, GLANCED, WORTH_FAST, WORTH_STREAMS, WORTH_SUBLISTS, in_shared_memory
from .lists import Nodes
from .sampling import BEYOND, NEAR, locality
from .serial import rank_here

HERE, ON_MACHINE = "1e2..8e6 x 30", "1e2..4e6 x 24"
"""Numbers of nodes of the measured lists; on longer ones, the serial loop would take most of a calibration."""
LISTS = {"width": "4, 8", "run": "linear -0.4..0.8 x 7 real", "window": "linear 0.4..1.3 x 4 real"}
"""Other properties of the measured lists, see `shuffled`; ``width`` is the number of bytes of a node."""
FARTHEST = 27
"""Largest distance of links that the models know, in doublings of a byte."""
LOOK = {"width": "4, 8", "far": "linear 0..1 real", "span": f"linear {NEAR}..{FARTHEST} real"}
"""Other inputs of the models, see `smp.kernels.lists.sampling.locality`."""


@functools.cache
def rankings(streams: int) -> Library:
    """Return the library of the forms that run on streams of this process; it takes nodes and ``from_tail``."""
    on_all = f"fast, {streams} streams"

    def rule(n: float, width: float, far: float, span: float) -> str:
        if n < WORTH_SUBLISTS or (n < WORTH_FAST and (far < 0.5 or span < BEYOND)):
            return "serial"
        return on_all if n >= WORTH_STREAMS and streams > 1 else "fast, 1 stream"

    library = Library(
        f"rank_list[{streams} streams]",
        {"n": HERE, **LOOK},
        lambda nodes, from_tail=False: seen(nodes),
        setup=lambda **list_of: (shuffled(**list_of),),
        rule=rule,
        points=115,
        loops={"n": HERE, **LISTS},
        guard=Guard("n", GLANCED, "serial"),
    )
    library.add(
        Implementation("serial", rank_here, [*terms.SIZES, *terms.WAITS]),
        Implementation("fast, 1 stream", partial(_fast, 1), [*terms.SIZES, *terms.MISSES]),
    )
    if streams > 1:
        library.add(Implementation(on_all, partial(_fast, streams), [*terms.SIZES, *terms.MISSES]))
    return recalled(library)


def by_models(library: Library, nodes: Nodes, from_tail: bool) -> Nodes:
    """Rank a list by the form that the library's models choose.

    The predictions are remembered for each eighth of an octave of lengths, 64th of far links, and quarter of a doubling
    of their span, because to ask the models takes some 40 us if they are in no cache.
    """
    (n, width, far, span), most = seen(nodes), library.ranges[0].high
    if n > most:
        long: Nodes = library(nodes, from_tail)
        return long
    chosen = library.remembered(typical(n, most), float(width), round(64 * far) / 64, round(4 * span) / 4)
    ranks: Nodes = library.call(chosen, nodes, from_tail)
    return ranks


@functools.cache
def programs(processors: int) -> Library:
    """Return the library of the SPMD programs; it takes a machine of that many processors, nodes, and ``from_tail``."""
    library = Library(
        f"rank_list[{processors} processors]",
        {"n": ON_MACHINE, **LOOK},
        lambda machine, nodes, from_tail=False: seen(nodes),
        setup=lambda **list_of: (_machine(processors), shuffled(**list_of)),
        rule=lambda n, *_: "helman-jaja",
        points=80,
        loops={"n": ON_MACHINE, **LISTS},
        correct=False,  # the machine may be emulated: its runs repeat exactly, and the computer's time is not theirs
    )
    for name, form in FORMS.items():
        if form.terms:
            parameter = Parameter(**form.parameter) if form.parameter else None
            run = partial(in_shared_memory, algorithm=name)
            library.add(Implementation(name, run, list(form.terms), form.when, parameter))
    return recalled(library)


def libraries(streams: int | None = None) -> list[Library]:
    """Return all libraries of list ranking for a number of streams and of processors, by default that of the CPUs."""
    many = streams_for(None) if streams is None else streams
    return [rankings(many), programs(many)]


def seen(nodes: Nodes) -> tuple[float, ...]:
    """Return the inputs of the models for a list: n, width, far, span."""
    return len(nodes), nodes.itemsize, *locality(nodes)


def shuffled(n: int, width: int, run: float, window: float, seed: int = 0) -> Nodes:
    """Return a list that is ordered in parts: runs of consecutive nodes, shuffled within windows of memory.

    Parameters
    ----------
    n : int
    width : {4, 8}
        Bytes of a node.
    run, window : float
        Exponents: a run has n**run nodes, and a window n**window, at least 1 and at most n.  So the list is random if
        ``run`` is 0 and ``window`` is 1.  It is in memory order if ``run`` is at least 1, or above ``window``.
    seed : int
        Seed of the order, and of the random choice to reverse the list.
    """
    rng = np.random.default_rng(seed + n)
    long, wide = (round(min(n, max(1, n**power))) for power in (run, window))
    runs, together = np.arange(-(-n // long), dtype=f"i{width}"), max(1, wide // long)
    whole = len(runs) // together * together
    if together == whole:
        rng.shuffle(runs[:whole])
    elif together > 1:
        rows = runs[:whole].reshape(-1, together)
        rng.permuted(rows, axis=1, out=rows)
    rng.shuffle(runs[whole:])
    order = (runs[:, None] * runs.dtype.type(long) + np.arange(long, dtype=runs.dtype)).ravel()
    order = order[order < n][:: rng.choice((1, -1))]
    successor: Nodes = np.empty_like(order)
    successor[order[:-1]], successor[order[-1]] = order[1:], order[-1]
    return successor


def _fast(streams: int, nodes: Nodes, from_tail: bool = False) -> Nodes:
    return rank_fast(nodes, streams, from_tail)


@functools.cache
def _machine(processors: int) -> Machine:
    """Return the machine of a calibration, which stays open until this process ends."""
    return host(processors, pin=measuring_cpus(processors))
