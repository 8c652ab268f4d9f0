"""Kernels: classic parallel algorithms as SPMD programs, and as functions of plain NumPy arrays.

rank_list  scan_list        list ranking and list scan
"""

import importlib
from typing import Any

from .helman_jaja import rank_helman_jaja
from .list_ranking import ON_STREAMS, rank_list, scan_list
from .list_scan import scan_ranked
from .list_serial import rank_serial
from .lists import random_list
from .reid_miller import rank_reid_miller
from .wyllie import rank_wyllie

__all__ = [
    "random_list",
    "rank_helman_jaja",
    "rank_list",
    "rank_reid_miller",
    "rank_reid_miller_streams",
    "rank_serial",
    "rank_wyllie",
    "rank_wyllie_cells",
    "rank_wyllie_streams",
    "scan_list",
    "scan_ranked",
]


def __getattr__(name: str) -> Any:
    for module, program in ON_STREAMS.values():
        if program == name:
            return getattr(importlib.import_module(module, __package__), name)
    raise AttributeError(f"module 'smp.kernels' has no attribute {name!r}")
