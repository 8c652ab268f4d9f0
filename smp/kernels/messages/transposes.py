"""Libraries that choose the schedule of a transpose, one for each number of processors; see `smp.selection.library`.

    bytes of a part  --models-->  copies, rounds, rounds with the best number of barriers, interleaved

More barriers keep the rounds apart, but the processors wait more often.  So the predicted time first falls and then
rises with the number of rounds between two barriers.

Source: E. A. Brewer, Portable High-Performance Supercomputing, chapter 7.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from smp import Machine, Processor, host
from smp._computer.limits import measuring_cpus
from smp.selection.implementation import Implementation, Parameter
from smp.selection.kept import recalled
from smp.selection.library import Library

from ..._runtime.program.collectives.relay import SHORT, WINDOW
from ..._runtime.program.messages.deliveries import CHUNK
from ..in_process import streams_for

BYTES = "8..1e6 x 20"
"""Bytes of the measured parts."""
TIMES = 200
"""Transposes of a timing.  A run begins and ends once in this time, and makes a port, which the models include."""
CACHES = ["max(0, nbytes - 65536)", "max(0, nbytes - 262144)"]
"""Terms for parts that leave the levels of the caches."""


def transpose_schedule(nbytes: float, processors: int) -> dict[str, Any]:
    """Return the keywords with which `Processor.transpose` is predicted to be the fastest.

    Parameters
    ----------
    nbytes : float
        Bytes of a part; if the parts differ, their mean.
    processors : int
        Number of processors of the machine.

    Returns
    -------
    dict
        ``schedule``, and ``barriers`` if that is "rounds".  It is empty if copies through shared memory are predicted
        to be the fastest, or if there are no models: then the kind of the machine decides.

    Raises
    ------
    ValueError
        If ``nbytes`` is below 0, or ``processors`` below 1.

    Notes
    -----
    The models are those of `smp.host` on this computer.  ``python -m smp.microbench --calibrate transpose`` makes them
    for some numbers of processors (see `libraries`).  Call this outside of the program and give the result to all
    processors, so that they name the same schedule.  A worker that is pinned to one CPU does not find the models.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.kernels import transpose_schedule
    >>> def program(proc, keywords):
    ...     return proc.transpose(np.arange(2) + 10 * proc.rank, **keywords).tolist()
    >>> with smp.host(2) as machine:
    ...     machine.run(program, transpose_schedule(8, machine.size)).results
    [[0, 10], [1, 11]]
    """
    if not (nbytes >= 0 and processors >= 1):
        raise ValueError(
            f"a transpose has parts of 0 bytes or more, on 1 processor or more, not {nbytes} bytes on {processors}"
        )
    chosen = library_for(processors).best(nbytes)
    if chosen.name == "copies":
        return {}
    if chosen.name == "interleaved":
        return {"schedule": "interleaved"}
    return {"schedule": "rounds", "barriers": 0, **chosen.keywords}


@functools.cache
def library_for(processors: int) -> Library:
    """Return the library for a number of processors, with the models that are stored for it, if there are any."""
    made = Library(
        f"transpose[{processors} processors]",
        {"nbytes": BYTES},
        lambda machine, nbytes: (nbytes,),
        setup=lambda nbytes: (_opened(processors), nbytes),
        rule=lambda nbytes: "copies",
    )
    others = max(1, processors - 1)
    by_copies = [f"nbytes > {SHORT // processors}", f"ceil(nbytes / {WINDOW // others})"]
    made.add(
        Implementation("copies", functools.partial(_run, schedule="copies"), ["nbytes", *by_copies, *CACHES]),
        Implementation("rounds", functools.partial(_run, schedule="rounds", barriers=0), ["nbytes", *CACHES]),
        Implementation(
            "interleaved",
            functools.partial(_run, schedule="interleaved"),
            ["nbytes", f"ceil(nbytes / {CHUNK})", *CACHES],
        ),
    )
    if processors > 2:
        last, run = processors - 1, functools.partial(_run, schedule="rounds")
        terms = ["nbytes", f"ceil({last} / barriers) - 1", "nbytes * barriers", *CACHES]
        made.add(Implementation("rounds with barriers", run, terms, "", _barriers(last)))
    return recalled(made)


def _barriers(last: int) -> Parameter:
    """Return the number of rounds between two barriers as a parameter, for a number of rounds.

    Its steps are those numbers for which no smaller one needs as few barriers.
    """
    steps = [n for n in range(1, max(2, last)) if n == math.ceil(last / math.ceil(last / n))]
    text = f"powers 1..{last - 1}" if last > 2 else "1"
    return Parameter("barriers", text, 0, len(steps) - 1, lambda step, nbytes: steps[step])


def libraries(processors: int | None = None) -> list[Library]:
    """Return the libraries to calibrate: for powers of two, and for all processors, by default as many as CPUs."""
    most = max(2, streams_for(None) if processors is None else processors)
    return [library_for(each) for each in sorted({2**k for k in range(1, most.bit_length())} | {most})]


def _run(machine: Machine, nbytes: int, **keywords: Any) -> None:
    """Transpose many times on a machine."""
    machine.run(_transposes, nbytes, keywords)


def _transposes(proc: Processor, nbytes: int, keywords: dict[str, Any]) -> None:
    data = np.zeros((proc.size, nbytes), np.uint8)
    out = np.empty_like(data)
    for _ in range(TIMES):
        proc.transpose(data, out, **keywords)


@functools.cache
def _opened(processors: int) -> Machine:
    """Return a machine for calibration, which stays open."""
    return host(processors, pin=measuring_cpus(processors))
