"""Section on memory bandwidth, and on latency under load."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="bandwidth", seconds=(5, 15, 60), record="Bandwidth", scaled=False)
