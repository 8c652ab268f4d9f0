"""Finds the huge pages that shared memory can get, from a reserved pool or from the kernel on demand.

Every function takes the root of the file tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from .limits import ROOT, groups, number
from .system import huge_pages

Pages = Literal["small", "transparent", "pool"]
"""Kinds of pages for large global arrays: small, huge if the kernel has some to give, or huge from the pool."""
HUGE = 2 << 20
"""Bytes of a huge page on most systems. If a system's huge pages are larger, none are used."""
POOL = "sys/kernel/mm/hugepages/hugepages-2048kB"
SWITCH = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
"""File in which root sets whether the kernel gives huge pages to shared memory."""
GRANTING = ("always", "within_size", "advise", "force")
"""Values of the setting with which a program that asks for huge pages gets them."""


def granted_to_shared_memory(root: Path = ROOT) -> bool:
    """Return True if the kernel gives shared memory huge pages when a program asks for them."""
    return huge_pages(root)["shared"] in GRANTING


def pool_bytes(root: Path = ROOT) -> int:
    """Return the bytes of the pool's huge pages that are free, not reserved by a process, and within the limits."""
    free, promised = (number(root / POOL / name) or 0 for name in ("free_hugepages", "resv_hugepages"))
    left = [HUGE * max(0, free - promised)]
    for folder in groups("hugetlb", root):
        # version 2 limits use and reservations separately; version 1 has other names
        for limit, used in (("max", "current"), ("rsvd.max", "rsvd.current"), ("limit_in_bytes", "usage_in_bytes")):
            most = number(folder / f"hugetlb.2MB.{limit}")
            if most is not None:
                left.append(max(0, most - (number(folder / f"hugetlb.2MB.{used}") or 0)))
    return min(left) // HUGE * HUGE
