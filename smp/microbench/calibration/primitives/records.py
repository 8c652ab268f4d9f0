"""The bursts of what a run records: an empty superstep, entries of the log, lines, states."""

from __future__ import annotations

from smp._runtime.program.processor import Processor

from .primitive import Burst, Primitive, repeated


def superstep(proc: Processor) -> Burst:
    """Time supersteps that copy nothing: three barriers each."""

    def empty() -> None:
        with proc.superstep("empty") as step:
            step.compute()

    return repeated(proc, empty)


def log(proc: Processor) -> Burst:
    return repeated(proc, proc.log, "an entry of the log")


def print_(proc: Processor) -> Burst:
    return repeated(proc, proc.print, "a line of text")


def state(proc: Processor) -> Burst:
    """Time changes from each of two states to the other."""

    def change() -> None:
        proc.state("one")
        proc.state("another")

    pairs = repeated(proc, change)
    return lambda calls: pairs(calls) / 2


PRIMITIVES = (
    Primitive("empty superstep", superstep, {}),
    Primitive("log", log, {}, recorded="log"),
    Primitive("print", print_, {}, recorded="lines"),
    Primitive("state", state, {}),
)
