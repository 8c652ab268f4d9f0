"""Firefox without a window, driven by its own protocol.

    length ":" [0, number, command, parameters]    to Firefox
    length ":" [1, number, error, result]          from Firefox

Source: Marionette protocol, Firefox source docs.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .browser import PATIENCE, free_port, listens, wait_until

OPTIONS = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile")
ERRORS = """
    return Services.console.getMessageArray().filter(one => one instanceof Ci.nsIScriptError)
        .filter(one => one.sourceName.startsWith("file:")).map(String)
"""


def missing() -> str:
    """Return the reason why there is no Firefox; empty if there is one."""
    return "" if shutil.which("firefox-esr") else "no firefox-esr is installed"


class Firefox:
    """One window, as `Browser`."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line.makefile("rwb")
        self._receive()  # its greeting
        self._call("WebDriver:NewSession")

    def open(self, page: Path) -> None:
        self._call("WebDriver:Navigate", url=page.as_uri())

    def run(self, script: str) -> Any:
        return self._call("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def errors(self) -> list[str]:
        """Return the errors of scripts and the violations of policies in pages."""
        self._call("Marionette:SetContext", value="chrome")
        found: list[str] = self.run(ERRORS)
        self._call("Marionette:SetContext", value="content")
        return found

    def _call(self, command: str, **parameters: Any) -> Any:
        text = json.dumps([0, 1, command, parameters]).encode()
        self._line.write(f"{len(text)}:".encode() + text)
        self._line.flush()
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def _receive(self) -> Any:
        length = b""
        while (letter := self._line.read(1)) != b":":
            assert letter, "Firefox has closed the line"
            length += letter
        return json.loads(self._line.read(int(length)))


@contextlib.contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Start Firefox with its files in a folder, and end it."""
    port = free_port()
    (folder / "firefox").mkdir()
    (folder / "firefox" / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
    started = ["firefox-esr", *OPTIONS, folder / "firefox"]
    with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: listens(port))
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
                yield Firefox(line)
        finally:
            process.terminate()
