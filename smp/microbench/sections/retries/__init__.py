"""Retries of a wait before it traps."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="retries before a trap", seconds=(0.3, 1, 5), record="Retries")
