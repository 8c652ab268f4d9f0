"""Runs programs of the documentation: the Python blocks of a page in order, as one program, and examples."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from support.machines import ROOT

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
"""Pattern of a Python block. Blocks in comments, which readers do not see, prepare the others."""
DRIVER = """
import contextlib, io, json, sys

blocks, outputs, names = json.load(sys.stdin), [], {"__name__": "__main__"}
sys.modules["__main__"].__dict__.update(names)
for number, code in enumerate(blocks, 1):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"<block {number}>", "exec"), sys.modules["__main__"].__dict__)
    outputs.append(printed.getvalue())
print(json.dumps(outputs))
"""


def blocks_of(page: str) -> list[str]:
    """Return the code of the Python blocks of a page."""
    return [block["code"] for block in BLOCK.finditer(page)]


def outputs_of(page: str, folder: Path | None = None, **environment: str) -> list[str]:
    """Run the blocks of a page in a fresh process; return the output of each.

    Raises
    ------
    AssertionError
        If a block fails; the message has its traceback.
    """
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(blocks_of(page)),
        env={**os.environ, "COLUMNS": "100", **environment},
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


def output_of(example: Path) -> str:
    """Run an example in a fresh process; return its output.

    Raises
    ------
    AssertionError
        If it fails; the message has its traceback.
    """
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_page(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page in a folder from which they find the stored results of examples; see `outputs_of`."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return outputs_of(page.read_text(encoding="utf-8"), folder)
