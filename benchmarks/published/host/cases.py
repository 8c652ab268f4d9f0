"""Programs that are timed on this computer, each with data of three sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.kernels.grids.programs import relax_red_black
from smp.kernels.lists.forms import FORMS as LISTS
from smp.kernels.lists.lists import random_list
from smp.kernels.messages.mesh import relax_mesh
from smp.kernels.messages.mesh_cells import relax_mesh_cells
from smp.kernels.sorting.forms import FORMS as SORTS
from smp.kernels.sorting.quick import sort_quick

FAMILIES = ("list ranking", "sorting", "stencil", "mesh", "quicksort")
ROUNDS, GRAIN, ITERATIONS = 16, 4, 8


@dataclass(frozen=True)
class Case:
    """One program with its data.

    Attributes
    ----------
    data : ndarray
        What the program works on; each repeat begins with a new copy.
    apart : bool
        True if the program reads these data and writes into a second array.
    """

    p: int
    family: str
    n: int
    form: str
    program: Callable[..., Any]
    data: NDArray[Any]
    apart: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def cases(p: int, quick: bool) -> Iterator[Case]:
    """Yield the programs for p processors, for quick runs with data of only one size."""
    rng, chosen = np.random.default_rng(5), slice(1, 2) if quick else slice(None)
    for n in (10_000, 40_000, 160_000)[chosen]:
        nodes = random_list(n, seed=1)
        for form in ("serial", "wyllie", "reid-miller", "helman-jaja"):
            yield Case(p, FAMILIES[0], n, form, LISTS[form].loaded(), nodes, apart=True)
    for n in (10_000, 40_000, 160_000)[chosen]:
        keys = rng.integers(0, 1 << 31, n).astype(np.int32)
        for form in ("radix", "sample", "column"):
            yield Case(p, FAMILIES[1], n, form, SORTS[form].loaded(), keys)
    for n in (100, 300, 900)[chosen]:
        grid = rng.random((n, n))
        for form in ("square", "vertical", "shared"):
            options = {"layout": form, "iterations": ITERATIONS}
            yield Case(p, FAMILIES[2], n, form, relax_red_black, grid, options=options)
    for n in (64, 512, 4096)[chosen]:
        state, options = rng.random((p, n)), {"rounds": ROUNDS, "grain": GRAIN}
        yield Case(p, FAMILIES[3], n, "supersteps", relax_mesh, state, options=options)
        yield Case(p, FAMILIES[3], n, "cells", relax_mesh_cells, state, options=options)
    for n in (1_000, 4_000, 16_000)[chosen]:
        keys = rng.integers(0, 1 << 31, n).astype(np.int32)
        for form, options in (("lock", {}), ("cell", {"guard": "cell"}), ("own swaps", {"inline_swap": True})):
            yield Case(p, FAMILIES[4], n, form, sort_quick, keys, options=options)
