"""Fat tree: switches of several equal chips, with several equal links upward.

    level 2         [chip 0]      [chip 1]         a packet rises by links that are drawn, until it is above
                     │ │ │ └──┐    │ │ │ │         its destination; from there on only one way leads down
    level 1        [chip] ... ─┴─[chip]
                    │ │ │ │       │ │ │ │
                    nodes 0-3     nodes 12-15

A switch of level j has as many chips as a switch of the level below has links upward, so each of these links leads to a
chip of its own. A chip has one link down to each child of its switch.
"""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import SWITCH, WAYS, switches_of
from .laying import Laying

UP, DOWN, LOW, CHILD, SPAN = range(5)
"""Of a chip: its ways upward, its first link down, the first node below it, the nodes below a child and below it."""


def lay(laying: Laying) -> None:
    """Lay out the tree over the nodes."""
    arity = laying.network.arity or 2
    given = laying.network.links or (1,)
    levels = 1
    while arity**levels < laying.nodes:
        levels += 1
    links = [1, *(given[min(level, len(given) - 1)] for level in range(1, levels))]  # upward, below each level
    chips = [1, *links[1:]]
    numbers: list[dict[tuple[int, int], int]] = []  # of the chips, by group and chip, for each level
    for level in range(levels):
        span = arity ** (level + 1)
        numbers.append({})
        for group in range(-(-laying.nodes // span)):
            for chip in range(chips[level]):
                last = min((group + 1) * span, laying.nodes) - 1
                name = f"chip {chip} of the switch over nodes {group * span} to {last}"
                numbers[level][group, chip] = laying.add_switch(name, 0, 0, group * span, span // arity, span)
    laying.add_entries()
    rows = laying.switches
    for node in range(laying.nodes):
        laying.add_exit(laying.add_links([numbers[0][node // arity, 0]]))
    for (group, _), number in numbers[0].items():
        rows[number - laying.switch][DOWN] = laying.into + group * arity
    for level in range(1, levels):
        owned = [_owned(chip, chips[level - 1], links[level]) for chip in range(chips[level - 1])]
        for (group, chip), number in numbers[level - 1].items():
            ends = [numbers[level][group // arity, link] for link in owned[chip]]
            rows[number - laying.switch][UP] = laying.add_links(ends, level, together=True) * WAYS + len(ends)
        for (group, chip), number in numbers[level].items():
            owner = next(one for one, links_up in enumerate(owned) if chip in links_up)
            children = [
                child for child in range(group * arity, (group + 1) * arity) if (child, 0) in numbers[level - 1]
            ]
            ends = [numbers[level - 1][child, owner] for child in children]
            rows[number - laying.switch][DOWN] = laying.add_links(ends, level)


def _owned(chip: int, chips: int, links: int) -> range:
    """Return the links upward of a chip, one of several that share all links of their switch."""
    first = chip * links // chips
    return range(first, max(first + 1, (chip + 1) * links // chips))


@inline
def way(header: Words, switch: int, destination: int) -> int:
    """Return the ways of a packet from a chip."""
    switches, row = switches_of(header), switch * SWITCH
    below = destination - switches[row + LOW]
    if 0 <= below < switches[row + SPAN]:
        return int((switches[row + DOWN] + below // switches[row + CHILD]) * WAYS + 1)
    return int(switches[row + UP])
