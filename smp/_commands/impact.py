"""``smp impact``: print what a program costs, price by price, and what halving each price would save."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._output.forms import add_forms
from ..microbench import actions
from ..microbench.options import add_profile
from ..microbench.prediction_options import program
from ..microbench.predictions.programs import known_kernels


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp impact",
        description="Print what a program costs by the prices of a profile, and what halving each price would save.",
        epilog="example: smp impact radix,1e6,2",
    )
    made.add_argument(
        "impact",
        type=program,
        metavar="KERNEL,N,P",
        help=f"kernel, number of elements and of processors; KERNEL is one of {', '.join(known_kernels())}",
    )
    add_profile(made, "the profile with the prices (default: the one last measured on this computer)")
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return actions.carry_out(actions.impact, parser().parse_args(arguments))
