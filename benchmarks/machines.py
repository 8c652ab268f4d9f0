"""Measure on emulated machines what papers have printed of the real ones, and print both next to each other.

    python benchmarks/machines.py networks [--quick] [--figures FOLDER] [--json FILE]

Each subcommand is a module of the folder `published`, with a function `add_arguments` and a function `run`.
"""

from __future__ import annotations

import argparse

from published import networks

SUBCOMMANDS = {"networks": networks}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="subcommand")
    for name, module in SUBCOMMANDS.items():
        about = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=about, description=about)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
