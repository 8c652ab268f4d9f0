"""The command ``python -m smp.machines``: it prints descriptions of machines, checks files, and compares machines.

Exit codes of `main`: 0 done, 1 a file is not valid or there is no such machine, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

from .._computer.version import VERSION
from .._output import delimited, markdown, terminal
from .._output.table import Part
from ..errors import MachineFileError
from .files import load, names
from .printed import comparison, description

WIDTH = 100  # columns of a table that is printed to a file

EXAMPLES = f"""
examples:
  python -m smp.machines show cm5                 its settings, each with its source
  python -m smp.machines show my.toml --csv       the same of a file, as CSV
  python -m smp.machines check my.toml            is the file valid? Otherwise, the line and a way out
  python -m smp.machines compare cm5 paragon      a column for each machine

machines: {", ".join(names())}. Anything that ends with .toml is a file.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m smp.machines",
        description="Describe machines: the settings of a machine file and where each number is from.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"smp {VERSION}")
    commands = made.add_subparsers(dest="command", required=True, metavar="{show,check,compare}")
    show = commands.add_parser("show", help="print the settings of a machine, with the source of each")
    show.add_argument("machine", help="name of a machine, or a file")
    check = commands.add_parser("check", help="check files; the exit status is 1 if one is not valid")
    check.add_argument("files", nargs="+", metavar="FILE", help="machine file, or the name of a machine")
    compare = commands.add_parser("compare", help="print the settings of several machines side by side")
    compare.add_argument("machines", nargs="+", metavar="MACHINE", help="two or more names or files")
    for one in (show, compare):
        form = one.add_mutually_exclusive_group()
        for name, what in (("csv", "print CSV: raw numbers, comments with a #"), ("markdown", "print Markdown")):
            form.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="text", help=what)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    line = parser()
    options = line.parse_args(arguments)
    if options.command == "compare" and len(options.machines) < 2:
        line.error("compare needs two machines or more")
    if options.command == "check":
        return max(_check(file) for file in options.files)
    try:
        if options.command == "show":
            _print(description(load(options.machine)), options.form)
        else:
            _print(comparison([load(name) for name in options.machines]), options.form)
    except MachineFileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _check(file: str) -> int:
    """Check one file, print the result, and return the exit code."""
    try:
        machine = load(file)
    except MachineFileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{file}: valid, {machine.name!r} with {machine.processors} processors")
    return 0


def _print(part: Part, form: str) -> None:
    if form == "csv":
        print(delimited.report([part]))
    elif form == "markdown":
        print(markdown.report([part]))
    else:
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        print(terminal.report([part], width, bold=sys.stdout.isatty()))
