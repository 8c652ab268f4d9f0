"""``smp contention``: measure processors that contend for a word or a server, next to what LoPC predicts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from .._output.forms import add_forms, print_in
from ..errors import SmpError
from ..microbench import actions
from ..microbench.options import add_processors, add_profile, names_of
from ..profiles.profile import Profile
from ..profiles.published import opened

KINDS = ("word", "server")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp contention",
        description="Measure processors of this computer that work and then add to one word, or ask one server, for "
        "some amounts of work, and print the times next to those that LoPC predicts from a profile of this computer. "
        "It takes a few seconds.",
        epilog="example: smp contention -p 1,2 --profile smp-report",
    )
    made.add_argument(
        "--only",
        type=names_of(KINDS, "contention for {}"),
        default=KINDS,
        metavar="NAMES",
        help=f"of {','.join(KINDS)}; the profile needs the section synchronisation for word, and messages for server",
    )
    add_processors(made)
    add_profile(made, "the profile with the parameters (default: the one last measured on this computer)")
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return actions.carry_out(_contention, parser().parse_args(arguments))


def _contention(options: argparse.Namespace, talk: Console) -> int:
    from ..microbench.predictions.contention.measured import measure_contention

    profile = opened(options.profile) if options.profile else Profile.find()
    try:
        found = measure_contention(profile, options.processors or (), only=options.only)
    except ValueError as error:
        raise SmpError(str(error)) from error
    print_in(options.form, found.to_json(), [found.report()])
    return 0
