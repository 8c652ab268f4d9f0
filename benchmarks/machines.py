"""Run published experiments on emulated machines, and compare the numbers with the published ones.

    python benchmarks/machines.py mta [--quick] [--json mta.json] [--figures FOLDER]

Times are virtual, so the numbers are the same on every computer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path

from published import COMMANDS
from published.rows import as_json, counted, table_of

from smp._output import terminal


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    modules = {name: importlib.import_module(f"published.{name}") for name in COMMANDS}
    for name, module in modules.items():
        command = commands.add_parser(name, help=module.SUMMARY, description=module.SUMMARY)
        command.add_argument("--quick", action="store_true", help="fewer points of the figures")
        command.add_argument("--json", type=Path, default=Path(f"{name}.json"), help=f"file (default: {name}.json)")
        command.add_argument("--figures", type=Path, help="folder for a PNG file of each figure (default: none)")
    given = parser.parse_args()
    begun = time.perf_counter()
    parts = modules[given.command].results(given.quick)
    for part in parts:
        if part.rows:
            print(terminal.text(table_of(part)), end="\n\n")
        for table in part.tables:
            print(terminal.text(table), end="\n\n")
    print(counted([row for part in parts for row in part.rows]))
    given.json.write_text(json.dumps(as_json(parts), indent=1) + "\n", encoding="utf-8")
    if given.figures:
        from smp._output.drawing import save

        save((figure for part in parts for figure in part.figures), given.figures)
        for part in parts:
            for picture in part.pictures:
                picture(given.figures)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
