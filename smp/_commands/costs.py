"""``smp costs``: print and draw what the same operations cost on several machines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .._output.forms import add_forms, print_in
from ..errors import SmpError
from ..microbench import actions
from ..microbench.options import names_of

OPERATIONS = ("barrier", "copy", "superstep", "ranking", "sorting")
MOST = 1_000_000
EXAMPLES = """
examples:
  smp costs cm5 alewife paragon atm               four machines that come with smp
  smp costs cm5 smp-report/profile.json -p 8      a machine next to this computer
  smp costs cm5 my.toml --only barrier,copy --sizes 1,100,1e4 --out pictures
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp costs",
        description="Print what the same operations cost on several machines, in virtual time. Nothing is measured.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "machines",
        nargs="+",
        metavar="MACHINE",
        help="name of a machine (`smp machines --help` lists them), a machine file, or a profile",
    )
    made.add_argument(
        "-p", "--processors", type=int, default=4, metavar="N", help="processors of each machine (default: 4)"
    )
    made.add_argument(
        "--only",
        type=names_of(OPERATIONS, "operation {}"),
        default=(),
        metavar="NAMES",
        help=f"of {','.join(OPERATIONS)}",
    )
    made.add_argument(
        "--sizes",
        type=_sizes,
        metavar="1,100,1e4",
        help="words, nodes or keys of each processor (default: 1 to 10,000)",
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="also draw the figure into a folder")
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return actions.carry_out(_costs, parser().parse_args(arguments))


def _costs(options: argparse.Namespace, talk: Console) -> int:
    from ..microbench.predictions.machine_costs import SIZES, costs_of_machines

    try:
        found = costs_of_machines(
            *options.machines, processors=options.processors, operations=options.only, sizes=options.sizes or SIZES
        )
    except ValueError as error:
        raise SmpError(str(error)) from error
    print_in(options.form, found.to_json(), [found.report()])
    if options.out is not None:
        from .._output.drawing import save

        for file in save([found.figure()], options.out):
            talk.print(f"written: {file}", markup=False, highlight=False)
    return 0


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(float(part)) for part in text.split(","))
    except (ValueError, OverflowError):
        sizes = ()
    if not sizes or not all(1 <= n <= MOST for n in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of sizes from 1 to {MOST:,}, such as 1,100,1e4")
    return sizes
