"""The pieces of a selection are the elements that each node holds, and nothing is missing or twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smp._runtime.memory.indices import Selected
from smp._runtime.nodes.layout import Nodes, pieces


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(0, 20), st.data())
def test_pieces_cover_a_selection(counts: list[int], length: int, data: st.DataObject) -> None:
    nodes = Nodes(np.repeat(np.arange(len(counts)), counts).tolist())
    at = data.draw(st.none() | st.integers(0, len(counts) - 1))
    bounds = nodes.bounds(length, at)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, length, len(counts) + 1)
    assert nodes.bounds(length, at) is bounds
    first = data.draw(st.integers(0, length))
    found = Selected((data.draw(st.integers(0, length - first)),), first)
    if data.draw(st.booleans()):
        places = data.draw(st.lists(st.integers(0, length - 1), max_size=8)) if length else []
        found = Selected((len(places),), 0, np.array(places, np.intp))
    asked = np.arange(first, first + found.size) if found.positions is None else found.positions
    whole = np.arange(length)
    got = np.full(found.size, -1)
    seen = []
    for piece in pieces(found, bounds):
        part = whole[bounds[piece.node] : bounds[piece.node + 1]]
        assert piece.count == len(part[piece.index]) > 0
        got[piece.chosen] = part[piece.index]
        seen.append(piece.node)
    assert seen == sorted(set(seen))
    np.testing.assert_array_equal(got, asked)
