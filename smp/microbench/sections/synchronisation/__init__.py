"""Atomic operations, hand-offs of a cache line, and barriers."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="synchronisation", seconds=(2, 10, 40), record="Synchronisation")
