"""``smp compare``: show which figures of profiles are different."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from .._output.forms import add_forms
from ..microbench import actions
from ..microbench.prediction_options import add_comparison
from ..profiles.profile import Profile


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp compare",
        description="Compare profiles with the first of them: which figures are different, and on which machine a few "
        "programs would be faster.",
    )
    made.add_argument(
        "compare",
        nargs="+",
        metavar="PROFILE",
        help="file or folder of a profile; a single one is compared with the profile last measured on this computer",
    )
    add_comparison(made)
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return actions.carry_out(_compare, parser().parse_args(arguments))


def _compare(options: argparse.Namespace, talk: Console) -> int:
    if len(options.compare) == 1:
        options.compare.append(Profile.find())
    return actions.compare(options, talk)
