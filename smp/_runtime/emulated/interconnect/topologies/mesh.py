"""Two-dimensional mesh: a packet goes along the first dimension, then along the second.

0 ─ 1 ─ 2       node n of a mesh of a by b nodes has the coordinates n // b and n % b
│   │   │
3 ─ 4 ─ 5
"""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import SIZES, SWITCH, WAYS, switches_of
from .laying import Laying

ENTRY, BACK, ON, LEFT, RIGHT, ROW, COLUMN = range(7)
"""Of a switch: the links to its node, backward and forward in the first dimension and in the second; its place."""


def lay(laying: Laying, sizes: tuple[int, ...]) -> None:
    """Lay out a switch for each node, and a link in each direction between neighbours."""
    rows, columns = sizes
    numbers = [
        laying.add_switch(f"the switch of node {node}", laying.into + node, 0, 0, 0, 0, *divmod(node, columns))
        for node in range(laying.nodes)
    ]
    laying.add_entries()
    for node in range(laying.nodes):
        laying.add_exit(laying.add_links([numbers[node]]))
        row, column = divmod(node, columns)
        for port, other, there in (
            (BACK, node - columns, row > 0),
            (ON, node + columns, row < rows - 1),
            (LEFT, node - 1, column > 0),
            (RIGHT, node + 1, column < columns - 1),
        ):
            if there:
                laying.switches[node][port] = laying.add_links([numbers[other]])


@inline
def way(header: Words, switch: int, destination: int) -> int:
    """Return the ways of a packet from a switch."""
    switches, at, columns = switches_of(header), switch * SWITCH, header[SIZES + 1]
    row, column = destination // columns, destination % columns
    if row != switches[at + ROW]:
        port = BACK if row < switches[at + ROW] else ON
    elif column != switches[at + COLUMN]:
        port = LEFT if column < switches[at + COLUMN] else RIGHT
    else:
        port = ENTRY
    return int(switches[at + port] * WAYS + 1)
