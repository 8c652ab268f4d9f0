"""The way of a packet from a switch, by the kind of the network."""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import KIND
from . import bus, fat_tree, hypercube, mesh, switch, torus3
from .laying import Laying

FAT_TREE, MESH, TORUS, HYPERCUBE, SWITCHED = range(5)
KINDS = {
    "fat-tree": FAT_TREE,
    "mesh": MESH,
    "torus3": TORUS,
    "hypercube": HYPERCUBE,
    "switch": SWITCHED,
    "bus": SWITCHED,
    "ideal": SWITCHED,
}
"""For each kind of network, the rule by which its packets go."""
_fat_tree, _mesh, _torus, _hypercube, _switch = fat_tree.way, mesh.way, torus3.way, hypercube.way, switch.way


def lay(laying: Laying, sizes: tuple[int, ...]) -> None:
    """Lay out a network; ``sizes`` are the nodes in each dimension of a mesh or a torus."""
    kind = laying.network.kind
    if kind in ("mesh", "torus3"):
        (mesh if kind == "mesh" else torus3).lay(laying, sizes)
    else:
        {"fat-tree": fat_tree, "hypercube": hypercube, "bus": bus}.get(kind, switch).lay(laying)


@inline
def way(header: Words, link: int, at: int, destination: int) -> int:
    """Return the ways of a packet from a switch to which a link has brought it."""
    kind = header[KIND]
    if kind == FAT_TREE:
        return _fat_tree(header, at, destination)
    if kind == MESH:
        return _mesh(header, at, destination)
    if kind == TORUS:
        return _torus(header, link, at, destination)
    if kind == HYPERCUBE:
        return _hypercube(header, at, destination)
    return _switch(header, at, destination)
