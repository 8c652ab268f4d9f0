"""The two commands run as processes, with outputs of every kind and with an early Ctrl-C."""

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.machines import ROOT

SPEAKING = """
import sys
from rich.console import Console
from rich.table import Table

text = "2 \\u00b5s \\u00b1 3 \\u03b2"

def main():
    table = Table(title=text, width=30)
    table.add_column("n\\u00b2")
    table.add_row("\\u2026")
    Console().print(table)
    print(text)
    print("x" * 200_000)
    Console(stderr=True).print("done", table)
    return 0
"""


def spoken(shell: str, tmp_path: Path, **environment: str) -> Any:
    """In a shell, run a command that prints more than a pipe holds."""
    (tmp_path / "speaking.py").write_text(SPEAKING)
    code = "from smp._computer import commands; commands.run('speaking')"
    return subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {shell}', sys.executable, code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), **environment},
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "2 ?s ? 3 ?"), ("latin-1", "2 \u00b5s \u00b1 3 ?"), ("utf-8", "2 \u00b5s \u00b1 3 \u03b2")],
)
def test_letters_that_an_output_cannot_show_are_replaced(tmp_path: Path, encoding: str, shown: str) -> None:
    done = spoken("", tmp_path, PYTHONIOENCODING=encoding, NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.decode(encoding)
    assert printed.count(shown) == 2
    assert ("+--" in printed) is (encoding != "utf-8"), "the rules of tables are ASCII unless the output is UTF-8"
    assert "done" in done.stderr.decode(encoding)


@pytest.mark.parametrize(
    ("shell", "status", "says"),
    [
        ("| head -1 >/dev/null; exit ${PIPESTATUS[0]}", 141, "done"),
        (">&-", 1, "error: cannot write to standard output: it was closed at the start"),
        (">/dev/full", 1, "error: cannot write to standard output: No space left on device"),
        (">/dev/null 2>&-", 0, ""),
        (">/dev/null 2>/dev/full", 0, ""),
    ],
)
def test_a_closed_output_does_not_stop_the_command(tmp_path: Path, shell: str, status: int, says: str) -> None:
    done = spoken(shell, tmp_path)
    told = done.stderr.decode()
    assert done.returncode == status, told
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    assert ("done" in told) is ("2>" not in shell), "the command runs to its end"
    assert says in told


def test_the_strings_of_the_package_are_ascii() -> None:
    """The output of a user's program does not replace letters, so printing one of these strings must not fail there."""
    input_of_users = {"\u03bc", "\u00b5"}  # the two micro signs that a treatment may contain
    for file in (ROOT / "smp").rglob("*.py"):
        if "plots" in file.name or file.name == "figures.py":
            continue
        text = file.read_text(encoding="utf-8")
        if text.isascii() and not re.search(r"\\[xuUN0-7]", text):
            continue
        tree = ast.parse(text)
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                assert node.value.isascii() or node.value in input_of_users, f"{file}:{node.lineno}"


@pytest.mark.parametrize("name", ["smp.machines", "smp.microbench", "smp.perturb"])
def test_ctrl_c_during_imports_ends_without_a_traceback(tmp_path: Path, name: str) -> None:
    """The import of one module prints a line and then sleeps, so that Ctrl-C comes during the import."""
    for module in ("numpy", f"{name}.command"):
        code = f"""
            import sys, time
            class Stop:
                def find_spec(self, name, path=None, target=None):
                    if name == "{module}" and sys.argv[:1] != ["-c"]:
                        print("there", flush=True)
                        time.sleep(30)
            sys.meta_path.insert(0, Stop())
        """
        (tmp_path / "sitecustomize.py").write_text("\n".join(line[12:] for line in code.splitlines()))
        process = subprocess.Popen(
            [sys.executable, "-m", name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (130, "interrupted\n")
