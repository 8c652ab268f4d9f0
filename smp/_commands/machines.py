"""``smp machines``: the command of `smp.machines`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..machines import command

PROG = "smp machines"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    return command.parser(PROG)


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    return command.main(arguments, PROG)
