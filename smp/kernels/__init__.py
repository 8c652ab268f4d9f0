"""Kernels: classic parallel algorithms as SPMD programs, and as functions of plain NumPy arrays.

rank_list  scan_list        list ranking and list scan
"""

from .helman_jaja import rank_helman_jaja
from .list_ranking import rank_list, scan_list
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
    "rank_serial",
    "rank_wyllie",
    "scan_list",
    "scan_ranked",
]
