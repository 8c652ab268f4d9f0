"""The memory that the processors of one node share."""

from __future__ import annotations

from smp.errors import OutOfSharedMemory

from ..memory.segment import Segment
from ..memory.threads import FEW, RETRIES
from ..memory.waiting_threads import WaitingThreads
from ..protocols import wait
from .layout import header, introduce
from .memory import ProcessorMemory


def made(processors: int) -> Segment:
    """Return a new segment for the processors of a node."""
    segment = Segment(header=header(processors))
    introduce(segment.words(0, wait.SHARED_WORDS), processors)
    return segment


def memory_of(segment: Segment, rank: int, place: int, processors: int, spin: bool) -> ProcessorMemory:
    """Return the memory of a node as one of its processors uses it.

    Parameters
    ----------
    rank, place : int
        Number of the processor, and its place among those of the node.
    processors : int
        Number of processors of the node.
    """
    segment.rank = rank
    segment.threads = WaitingThreads(segment, place, RETRIES if spin else FEW)
    return ProcessorMemory(segment, place, processors, RETRIES if spin else 0, _ask)


def _ask(nbytes: int) -> int:
    raise OutOfSharedMemory(f"{nbytes} bytes were asked for outside of an array")
