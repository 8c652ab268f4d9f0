"""The command ``smp`` and the list of its subcommands.

    smp measure ...  ─▶  `enter` ─▶ `smp._computer.commands.run` ─▶ `main` ─▶ ``main`` of the subcommand's module
    smp run ...      ─▶  `enter` ─▶ the script, with the signals and outputs that Python gives it
    a Tab in a shell ─▶  `enter` ─▶ `main` ─▶ argcomplete, with the parser of the subcommand that stands in the line

Each module has ``parser()``, and ``main(arguments)``, which returns the exit code.  docs/commands.md lists the codes.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from .._computer import commands
from .._computer.version import VERSION

SUBCOMMANDS = {
    "measure": ("smp._commands.measure", "measure this computer, and write a report with plots"),
    "show": ("smp._commands.show", "print a saved profile, calibration or experiment; measure nothing"),
    "compare": ("smp._commands.compare", "show which figures of profiles are different"),
    "impact": ("smp._commands.impact", "print what a program costs, price by price"),
    "costs": ("smp._commands.costs", "show what the same operations cost on several machines"),
    "contention": (
        "smp._commands.contention",
        "measure processors at one word or server, next to the prediction of LoPC",
    ),
    "calibrate": ("smp._commands.calibrate", "fit the models by which kernels choose their implementation"),
    "perturb": ("smp._commands.perturb", "find out which places of a program its time depends on"),
    "machines": ("smp._commands.machines", "show, check and compare machine files"),
    "run": ("smp._commands.run", "run a script, also under a launcher of MPI"),
    "cache": ("smp._commands.cache", "show or remove the files that smp keeps"),
    "completion": ("smp._commands.completion", "print the lines that make a shell complete this command"),
}
"""Module and summary of each subcommand."""
EXAMPLES = """
examples:
  smp measure --quick                45 seconds: every answer, roughly
  smp show                           print the last profile again
  smp compare before.json after.json
  smp impact radix,1e6,2
  smp perturb program.py

`smp SUBCOMMAND --help` lists the options of a subcommand.
"""


def parser(opened: str = "") -> argparse.ArgumentParser:
    """Return the parser of the command line, with the options of at most one subcommand."""
    made = argparse.ArgumentParser(
        prog="smp",
        description="Run SPMD programs on the cores of this computer, and measure what shared memory costs there.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"smp {VERSION}")
    added = made.add_subparsers(metavar="SUBCOMMAND", title="subcommands")
    for name, (_, summary) in SUBCOMMANDS.items():
        of = [_module(name).parser()] if name == opened else []
        added.add_parser(name, help=summary, parents=of, add_help=not of)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if os.getenv("_ARGCOMPLETE") is not None:
        _complete()
    name, rest = (words[0], words[1:]) if words else ("", [])
    if name in SUBCOMMANDS:
        return int(_module(name).main(rest))
    command = parser()
    if name.startswith("-"):
        command.parse_args(words)  # prints the help or the version, or says what is wrong
    if not name:
        command.print_help(sys.stderr)
        return 2
    close = difflib.get_close_matches(name, SUBCOMMANDS, 1)
    command.error(f"there is no subcommand {name!r}" + (f": did you mean {close[0]}?" if close else ""))


def enter() -> None:
    """Run the command as a process: the entry point of ``smp`` and of ``python -m smp``."""
    if sys.argv[1:2] == ["run"]:
        _module("run").main(sys.argv[2:])
    else:
        commands.run(__name__)


def _module(name: str) -> ModuleType:
    return importlib.import_module(SUBCOMMANDS[name][0])


def _complete() -> None:
    """Print the possible continuations of the line in ``COMP_LINE``, and exit."""
    import argcomplete

    words = os.getenv("COMP_LINE", "").split()[1:2]
    argcomplete.autocomplete(parser(words[0] if words and words[0] in SUBCOMMANDS else ""))
