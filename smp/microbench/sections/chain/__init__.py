"""Section on passing a value on to many streams: through one cell, or along a chain of cells."""

from smp.microbench.method.section import Section

SECTION = Section(__name__, title="one cell against a chain", seconds=(0.6, 3, 20), record="Chain")
