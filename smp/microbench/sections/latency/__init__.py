"""Memory latency."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="memory latency", seconds=(5, 28, 120), record="Latency")
