"""Run a measurement for the command, with its options, its progress, and the messages before and after it.

look: is the computer busy?  ─▶  measure, with progress  ─▶  look again  ─▶  which sections are missing?
"""

from __future__ import annotations

import argparse
import math
import platform
import shlex

from rich.console import Console

from .._computer.commands import interruptible
from .._runtime.program.processor import MOST
from .campaign import Campaign
from .progress import shown_on
from .sections import SECTIONS

BUSY = (
    "wait until it is quiet, leave CPUs to the other programs with -p, or limit the time with --budget; the "
    "measurement starts all the same, and disturbed results are marked as not valid"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the machine and the conditions of a measurement."""
    parser.add_argument(
        "--machine",
        type=_machine,
        default=("host", None),
        metavar="mpi:N",
        help="measure a machine of MPI with N processors instead of this computer's shared memory; without :N, with "
        "the ranks of the launcher's job, or a processor for each CPU",
    )
    parser.add_argument(
        "--hosts", metavar="a:8,b:8", help="with --machine mpi: computers, each with its number of ranks"
    )
    parser.add_argument(
        "--launcher",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="with --machine mpi: words that take the place of mpiexec, such as srun",
    )
    parser.add_argument(
        "--budget",
        type=_seconds,
        metavar="SECONDS",
        help="stop measuring after this time: sections take less than their usual time, and the least important ones "
        "are left out; the same command, run again, continues with those",
    )
    parser.add_argument(
        "--name",
        nargs="?",
        const=platform.node(),
        metavar="NAME",
        help="name of the computer in the profile (default: none; without NAME: its name in the network)",
    )


def check_machine(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error if options do not go with the machine that is to be measured."""
    kind = options.machine[0]
    if kind == "host" and (options.hosts or options.launcher):
        parser.error("arguments --hosts and --launcher: go only with --machine mpi")
    if kind == "mpi" and options.processors:
        parser.error("argument -p: goes only with the host; give the number of processors with --machine mpi:N")
    for name in options.only or ():
        if SECTIONS[name].machine != kind:
            wanted = "with --machine mpi" if kind == "host" else "without --machine mpi"
            parser.error(f"argument --only: {name} is measured only {wanted}")


def measure(campaign: Campaign, talk: Console) -> None:
    """Run a measurement; report disturbances before it, its progress, and the sections still missing at the end.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the campaign holds the results so far.
    """
    if busy := campaign.look("before"):
        talk.print(f"the computer is busy: {'; '.join(busy)}", style="yellow", markup=False, highlight=False)
        talk.print(BUSY, highlight=False)
    with interruptible(), shown_on(talk) as progress:
        campaign.measure(progress, progress.ended)
    campaign.look("after")
    if missing := campaign.missing:
        talk.print(
            f"{campaign.budget_s:g} s were not enough; not measured, or only in part: {', '.join(missing)}; "
            "run the same command again to continue",
            highlight=False,
        )


def _machine(text: str) -> tuple[str, int | None]:
    kind, _, size = text.partition(":")
    if kind == "mpi" and (not size or (size.isdecimal() and 1 <= int(size) <= MOST)):
        return kind, int(size) if size else None
    if text == "host":
        return text, None
    raise argparse.ArgumentTypeError(f"{text!r} is not a machine: give host, mpi, or mpi:N with N from 1 to {MOST}")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a budget: give a number of seconds above 0")
    return seconds
