"""A real Jupyter kernel, whose cells a test runs one by one."""

import contextlib
import re
from collections.abc import Iterator

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from .machines import ROOT


class Notebook:
    """A Jupyter kernel together with the cells that have been run in it."""

    def __init__(self, client: NotebookClient) -> None:
        self.client, self.number = client, 0

    def run(self, source: str) -> str:
        """Run a cell; return its printed output and its value as text."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.number += 1
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        texts = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs]
        return "".join(texts).strip()

    def fails(self, source: str) -> str:
        """Run a cell that raises; return the text of its traceback, without colours."""
        with pytest.raises(CellExecutionError) as caught:
            self.run(source)
        return re.sub(r"\x1b\[[0-9;]*m", "", str(caught.value))


@contextlib.contextmanager
def kernel() -> Iterator[Notebook]:
    """Start a kernel in the project's folder, and end it."""
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=120, kernel_name="python3")
    with client.setup_kernel(cwd=str(ROOT)):
        yield Notebook(client)
