"""The command ``python -m smp.microbench``: everything that `actions` can do, under one list of options.

Exit codes are those of `actions`, and 2 for wrong usage.  The command ``smp`` has a subcommand for each action.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .._computer.version import VERSION
from .._output.forms import add_forms
from . import actions
from .actions import Action, carry_out
from .calibration.kernels import KERNELS, NAMES
from .options import add_folder, add_plan, add_profile, add_size, check_machine, names_of
from .prediction_options import add_comparison, check_comparison, program
from .predictions.programs import known_kernels

EXAMPLES = """
examples:
  python -m smp.microbench --quick             45 seconds: every answer, roughly
  python -m smp.microbench                     four minutes: answers to rely on
  python -m smp.microbench --full -p 1,2,4,8   the complete grids of the papers
  python -m smp.microbench --only latency,lists
  python -m smp.microbench --budget 60         what fits into a minute, the most important sections first
  python -m smp.microbench --profile smp-report/profile.json            print it again, measure nothing
  python -m smp.microbench --profile smp-report/profile.json --only sorting   sort again, with its cost functions
  python -m smp.microbench --quick --json | jq .access.functions
  python -m smp.microbench --profile smp-report --csv > report.csv            its tables, with all digits
  python -m smp.microbench --calibrate         some minutes: the models by which sort, rank_list and relax choose
  python -m smp.microbench --calibrate messages     about a minute: what collectives, messages and blocks cost
  python -m smp.microbench --models smp-report/calibration.json         print them again, measure nothing
  python -m smp.microbench --machine mpi:8 --hosts a:4,b:4              a machine of MPI on two computers
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m smp.microbench",
        description="Measure what shared memory costs on this computer, and fit cost functions to the measured times; "
        "rank lists, sort keys, relax grids, and show where the measured times lie in the predicted intervals; measure "
        "full/empty cells and streams.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_size(made)
    add_plan(made)
    add_profile(made, "use a saved profile; measure only what --only names")
    others = made.add_mutually_exclusive_group()
    others.add_argument(
        "--calibrate",
        type=names_of(NAMES, "kernel {} to calibrate"),
        nargs="?",
        const=tuple(KERNELS),
        metavar="NAMES",
        help="fit the models by which kernels choose their implementation: all, or only these, of "
        f"{','.join(KERNELS)}; or models of the runtime's own primitives, by the name messages; measure nothing else",
    )
    others.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="print profiles side by side, each compared with the first, and show which figures are different; measure "
        "nothing",
    )
    others.add_argument(
        "--impact",
        type=program,
        metavar="KERNEL,N,P",
        help="print what a program costs by the profile (--profile, or the last one measured), price by price, and "
        f"what halving each price would save; KERNEL is one of {', '.join(known_kernels())}",
    )
    others.add_argument(
        "--facts", action="store_true", help="print what the system reports about this computer; measure nothing"
    )
    others.add_argument("--models", type=Path, metavar="FILE", help="print a saved calibration; measure nothing")
    add_comparison(made, "with --compare: ")
    add_folder(made)
    add_forms(made)
    made.add_argument("--version", action="version", version=f"smp {VERSION}")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    check_comparison(command, options)
    check_machine(command, options)
    return carry_out(_action(options), options)


def _action(options: argparse.Namespace) -> Action:
    for name, action in (
        ("calibrate", actions.calibrate),
        ("models", actions.show_models),
        ("facts", actions.show_facts),
        ("compare", actions.compare),
        ("impact", actions.impact),
    ):
        if getattr(options, name):
            return action
    return actions.show if options.profile and not options.only else actions.run
