"""Loads in flight."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="loads under way", seconds=(1.5, 8, 40), record="Outstanding")
