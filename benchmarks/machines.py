"""Compare emulated machines with what was published about them.

    python benchmarks/machines.py models [--quick] [--json FILE] [--figures FOLDER]

Each row of the tables has the published number, the emulated one, and the error.  A row is "set" if a parameter of the
machine was set from it, so that agreement shows only that the setting works.  Nothing was set from a row "pred".
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from published import models

SUBCOMMANDS = {"models": models}
"""Modules with ``measure(quick)``, which returns a report: it has ``show()``, ``to_json()`` and ``figures()``."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_subparsers(dest="subcommand", required=True)
    for name, module in SUBCOMMANDS.items():
        about = (module.__doc__ or "").partition("\n")[0]
        one = chosen.add_parser(name, help=about, description=about)
        one.add_argument("--quick", action="store_true", help="fewer runs")
        one.add_argument("--json", type=Path, metavar="FILE", help="file to write all numbers to")
        one.add_argument("--figures", type=Path, metavar="FOLDER", help="folder for pictures, as PNG files")
    options = parser.parse_args()
    report = SUBCOMMANDS[options.subcommand].measure(options.quick)
    report.show()
    if options.json is not None:
        options.json.write_text(json.dumps(report.to_json(), indent=1), encoding="utf-8")
    if options.figures is not None:
        from smp._output.drawing import save

        options.figures.mkdir(parents=True, exist_ok=True)
        for file in save(report.figures(), options.figures):
            print(file)


if __name__ == "__main__":
    main()
