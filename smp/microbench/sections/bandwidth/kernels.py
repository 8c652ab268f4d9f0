"""The kernels of STREAM, in the order in which they are run."""

from typing import Literal

Kernel = Literal["copy", "scale", "add", "triad"]

KERNELS: tuple[Kernel, ...] = ("copy", "scale", "add", "triad")
