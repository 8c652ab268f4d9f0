"""A measurement as the command runs it: its options, and what is said around it.

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
    """Add the options of the conditions of a measurement."""
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
    """Measure; say what disturbs, how far it is, and what is missing in the end.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the campaign holds what was measured.
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
