"""``smp calibrate``: fit the models by which kernels choose their implementation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._output.forms import add_forms
from ..microbench import actions
from ..microbench.calibration.kernels import KERNELS, NAMES
from ..microbench.options import add_folder, add_seed, names_of


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp calibrate",
        description="Fit the models by which sort, rank_list and relax choose their implementation on this computer, "
        "and keep them for all later programs. Models that were kept before stay if they are better on fresh points.",
    )
    made.add_argument(
        "calibrate",
        type=names_of(NAMES, "kernel {} to calibrate"),
        nargs="?",
        default=tuple(KERNELS),
        metavar="NAMES",
        help=f"only these, of {','.join(NAMES)} (default: {','.join(KERNELS)})",
    )
    add_seed(made)
    add_folder(made)
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return actions.carry_out(actions.calibrate, parser().parse_args(arguments))
