"""Huge pages that shared memory can have: out of a pool that was set aside for them, or from the kernel as it runs.

Every function takes the root of the file tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from .limits import ROOT, groups, number
from .system import huge_pages

Pages = Literal["small", "transparent", "pool"]
"""What large global arrays lie in: small pages, huge ones that the kernel gives where it has some, or the pool's."""
HUGE = 2 << 20
"""Bytes of a huge page on most systems; where it is larger, none is used."""
POOL = "sys/kernel/mm/hugepages/hugepages-2048kB"
SWITCH = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
"""By which root decides whether the kernel gives huge pages to shared memory."""
GRANTING = ("always", "within_size", "advise", "force")
"""The positions of the switch in which a program that asks for huge pages gets them."""


def granted_to_shared_memory(root: Path = ROOT) -> bool:
    """Return whether shared memory gets huge pages from the kernel where a program asks for them."""
    return huge_pages(root)["shared"] in GRANTING


def pool_bytes(root: Path = ROOT) -> int:
    """Return the bytes of the pool's huge pages that can still be had: free, promised to no process, within limits."""
    free, promised = (number(root / POOL / name) or 0 for name in ("free_hugepages", "resv_hugepages"))
    left = [HUGE * max(0, free - promised)]
    for folder in groups("hugetlb", root):
        # version 2 limits use and promises apart; version 1 has other names
        for limit, used in (("max", "current"), ("rsvd.max", "rsvd.current"), ("limit_in_bytes", "usage_in_bytes")):
            most = number(folder / f"hugetlb.2MB.{limit}")
            if most is not None:
                left.append(max(0, most - (number(folder / f"hugetlb.2MB.{used}") or 0)))
    return min(left) // HUGE * HUGE
