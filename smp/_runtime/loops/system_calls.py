"""Numbers of the system calls that machine code makes, by the kind of CPU."""

from __future__ import annotations

import platform
import sys

FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}.get(platform.machine())
MEMBARRIER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "ppc64le": 365, "s390x": 356}.get(platform.machine())
LINUX = sys.platform == "linux" and FUTEX is not None
