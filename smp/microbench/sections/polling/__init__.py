"""Cost that polling streams impose on another stream."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="polling", seconds=(1, 5, 20), record="Polling")
