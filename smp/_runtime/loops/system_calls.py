"""Numbers of the system calls that machine code makes, by the kind of CPU, and of a clock."""

from __future__ import annotations

import platform
import sys
import time

FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}.get(platform.machine())
MEMBARRIER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "ppc64le": 365, "s390x": 356}.get(platform.machine())
LINUX = sys.platform == "linux" and FUTEX is not None
SINCE_START = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock of `atomics.stamp`.  It is another one than that of `atomics.clock`, so that the two calls differ in
machine code, which is changed for emulated machines."""
