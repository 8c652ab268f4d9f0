"""Run a measurement for the command, with its options, its progress, and the messages before and after it.

look: is the computer busy?  ─▶  measure, with progress  ─▶  look again  ─▶  what was the budget not enough for?
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
    "wait until it is quiet, leave CPUs to the others with -p, or bound the time with --budget; it is measured all the "
    "same, and what is disturbed is marked as not valid"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the conditions of a measurement."""
    parser.add_argument(
        "--budget",
        type=_seconds,
        metavar="SECONDS",
        help="stop measuring after so long: sections take less than their usual time, and the least important are left "
        "out; the same command goes on with those",
    )
    parser.add_argument(
        "--name",
        nargs="?",
        const=platform.node(),
        metavar="NAME",
        help="what the computer is called in the profile (default: nothing; without NAME: as its network calls it)",
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
            f"{campaign.budget_s:g} s were not enough; not measured, or not whole: {', '.join(missing)}; "
            "the same command goes on with them",
            highlight=False,
        )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no budget: a number of seconds above 0")
    return seconds
