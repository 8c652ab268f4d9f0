"""Runs the Python blocks of a page of documentation in order, as one program."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

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
