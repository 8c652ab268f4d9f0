"""Run a measurement for the command, with its options, its progress, and the messages before and after it.

look: is the computer busy?  ─▶  measure, with progress  ─▶  look again  ─▶  which sections are missing?
"""

from __future__ import annotations

import argparse
import math
import platform

from rich.console import Console

from .._computer.commands import interruptible
from .campaign import Campaign
from .progress import shown_on

BUSY = (
    "wait until it is quiet, leave CPUs to the other programs with -p, or limit the time with --budget; the "
    "measurement starts all the same, and disturbed results are marked as not valid"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the conditions of a measurement."""
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


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a budget: give a number of seconds above 0")
    return seconds
