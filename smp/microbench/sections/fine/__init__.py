"""Section on list ranking by streams of one processor."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="list ranking by streams", seconds=(1.5, 8, 60), record="Fine", scaled=False)
