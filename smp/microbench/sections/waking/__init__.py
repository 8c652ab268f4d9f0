"""Waking streams that wait, many at once or one after the other."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="waking streams", seconds=(0.5, 3, 20), record="Waking")
