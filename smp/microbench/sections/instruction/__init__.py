"""Section that measures the time of an instruction while streams take turns on a CPU."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="clocks per instruction", seconds=(0.7, 4, 20), record="Instruction")
