"""Options of the commands that predict and compare, and measure nothing."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from .predictions.programs import known_kernels


def program(text: str) -> tuple[str, int, int]:
    """Return the kernel, the number of elements and the number of processors that KERNEL,N,P names."""
    kernel, _, sizes = text.partition(",")
    if kernel not in known_kernels():
        raise argparse.ArgumentTypeError(f"no kernel {kernel!r}: choose from {', '.join(known_kernels())}")
    try:
        n, p = (int(float(part)) for part in sizes.split(","))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not KERNEL,N,P such as radix,1e5,2") from None
    return kernel, n, p


def add_comparison(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add ``--fail-above`` and ``--page``."""
    parser.add_argument(
        "--fail-above",
        type=_percent,
        metavar="PERCENT",
        help=f"{when}exit with code 3 if a figure is different and more than PERCENT per cent slower than the first "
        "profile's",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help=f"{when}also write the comparison as a page (HTML), with the figures of the first two profiles in one",
    )


def check_comparison(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error if there is nothing to compare."""
    if options.compare and len(options.compare) < 2:
        parser.error("argument --compare: needs two profiles or more, the base first")
    for name in ("fail_above", "page"):
        if getattr(options, name) is not None and not options.compare:
            parser.error(f"argument --{name.replace('_', '-')}: goes only with --compare")


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = math.nan
    if not 0.0 <= percent < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage: give a number from 0 up, such as 10")
    return percent
