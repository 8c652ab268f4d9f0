"""Kernels: classic parallel algorithms as functions of plain NumPy arrays, and as SPMD programs.

                  functions               programs, for ``machine.run``
    lists         rank_list  scan_list    rank_serial  rank_wyllie  rank_reid_miller  rank_helman_jaja  scan_ranked
                                          rank_wyllie_cells  rank_wyllie_streams  rank_reid_miller_streams
    sorting       sort  argsort           sort_radix  sort_sample  sort_column  sort_quick
    stencils      relax                   relax_red_black  relax_mesh  relax_mesh_cells  relax_mesh_messages
    a ring                                pass_tokens
    sparse        (smp.kernels.sparse)    multiply_sparse
    transposes    transpose_schedule

By default, a function chooses the fastest form and runs it on streams of the calling process.  The caller can also name
an algorithm.  The module of each program that has supersteps also has a function ``cost``, which returns in closed form
what they access.
"""

from .._computer.lazy import handed_on
from .grids.functions import relax
from .grids.programs import relax_red_black
from .lists.functions import rank_list, scan_list
from .lists.helman_jaja import rank_helman_jaja
from .lists.lists import random_list
from .lists.reid_miller import rank_reid_miller
from .lists.scan import scan_ranked
from .lists.serial import rank_serial
from .lists.wyllie import rank_wyllie
from .messages.mesh import relax_mesh
from .messages.transposes import transpose_schedule
from .sorting.column import sort_column
from .sorting.functions import argsort, sort
from .sorting.radix import sort_radix
from .sorting.sample import sort_sample

__all__ = [
    "argsort",
    "pass_tokens",
    "random_list",
    "rank_helman_jaja",
    "rank_list",
    "rank_reid_miller",
    "rank_reid_miller_streams",
    "rank_serial",
    "rank_wyllie",
    "rank_wyllie_cells",
    "rank_wyllie_streams",
    "relax",
    "relax_mesh",
    "relax_mesh_cells",
    "relax_mesh_messages",
    "relax_red_black",
    "scan_list",
    "scan_ranked",
    "sort",
    "sort_column",
    "sort_quick",
    "sort_radix",
    "sort_sample",
    "transpose_schedule",
]

__getattr__ = handed_on(
    __name__,
    {
        "pass_tokens": ".messages.ring",
        "rank_reid_miller_streams": ".lists.on_streams",
        "rank_wyllie_cells": ".lists.wyllie_cells",
        "rank_wyllie_streams": ".lists.on_streams",
        "relax_mesh_cells": ".messages.mesh_cells",
        "relax_mesh_messages": ".messages.mesh_messages",
        "sort_quick": ".sorting.quick",
    },
)
"""Look up the remaining names.  Their modules are imported on first use, because importing them also imports Numba."""
