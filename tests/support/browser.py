"""A browser without a window, driven by chromedriver."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
PATIENCE = 30.0


def missing() -> str:
    """Return the reason why there is no browser; empty if there is one."""
    found = shutil.which("chromium") and shutil.which("chromedriver")
    return "" if found else "no chromium and chromedriver are installed"


class Browser:
    """One window. `run` returns the result of JavaScript, `command` that of the browser's own protocol."""

    def __init__(self, address: str, session: str) -> None:
        self._session = f"{address}/session/{session}"

    def open(self, page: Path | str) -> None:
        _call(f"{self._session}/url", {"url": page if isinstance(page, str) else page.as_uri()})

    def run(self, script: str) -> Any:
        return _call(f"{self._session}/execute/sync", {"script": script, "args": []})

    def command(self, name: str, **parameters: Any) -> Any:
        return _call(f"{self._session}/goog/cdp/execute", {"cmd": name, "params": parameters})

    def resize(self, width: int, height: int = 800) -> None:
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **shape)

    def mouse(self, kind: str, x: float, y: float) -> None:
        button = "none" if kind == "mouseMoved" else "left"
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def errors(self) -> list[str]:
        return [entry["message"] for entry in _call(f"{self._session}/se/log", {"type": "browser"})]


def wait_until(done: Callable[[], object]) -> None:
    """Wait until a function returns something true."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser that keeps its files in a folder, and end it."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    options = {"args": [*OPTIONS, f"--user-data-dir={folder / 'browser'}"]}
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    with subprocess.Popen(["chromedriver", f"--port={port}", "--silent"], stdout=subprocess.DEVNULL) as driver:
        try:
            wait_until(lambda: listens(port))
            session = _call(f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            try:
                yield Browser(address, session)
            finally:
                urllib.request.urlopen(urllib.request.Request(f"{address}/session/{session}", method="DELETE"))
        finally:
            driver.terminate()


def free_port() -> int:
    """Return the number of a port to which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


def listens(port: int) -> bool:
    """Return True if something listens to a port of this computer."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _call(address: str, content: Any) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(content).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None
