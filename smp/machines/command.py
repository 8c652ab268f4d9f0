"""The command ``python -m smp.machines``: it prints descriptions of machines, checks files, and compares machines.

Exit codes of `main`: 0 done, 1 a file is not valid or there is no such machine, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._computer.version import VERSION
from .._output.forms import add_forms, print_in
from ..errors import MachineFileError
from .files import load, names
from .printed import comparison, description
from .writing import document

PROG = "python -m smp.machines"
EXAMPLES = f"""
examples:
  python -m smp.machines show cm5                 its settings, each with its source
  python -m smp.machines show my.toml --csv       the same of a file, as CSV
  python -m smp.machines check my.toml            is the file valid? Otherwise, the line and a way out
  python -m smp.machines compare cm5 paragon      a column for each machine

machines: {", ".join(names())}. Anything that ends with .toml is a file.
"""


def parser(prog: str = PROG) -> argparse.ArgumentParser:
    """Return the parser of the command line, for a command of the given name."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="Describe machines: the settings of a machine file and where each number is from.",
        epilog=EXAMPLES.replace(PROG, prog),
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
        add_forms(one)
    return made


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run the command, and return its exit code."""
    line = parser(prog)
    options = line.parse_args(arguments)
    if options.command == "compare" and len(options.machines) < 2:
        line.error("compare needs two machines or more")
    if options.command == "check":
        return max(_check(file) for file in options.files)
    try:
        if options.command == "show":
            machine = load(options.machine)
            print_in(options.form, document(machine), [description(machine)])
        else:
            machines = [load(name) for name in options.machines]
            print_in(options.form, [document(one) for one in machines], [comparison(machines)])
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
