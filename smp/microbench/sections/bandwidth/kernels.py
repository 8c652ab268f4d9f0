"""The kernels of the section, in the order in which they are run: STREAM's four, and the sum of an array."""

from typing import Literal

Kernel = Literal["copy", "scale", "add", "triad", "read"]

STREAM: tuple[Kernel, ...] = ("copy", "scale", "add", "triad")
"""The four kernels of STREAM."""
KERNELS: tuple[Kernel, ...] = (*STREAM, "read")
"""All kernels that are timed."""
