"""axe, a script that looks for what keeps people from reading a page. The package axe-core-python brings it."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from typing import Any

from . import browser
from .browser import Browser, wait_until

WORST = ("serious", "critical")


def missing() -> str:
    """Return the reason why axe can't look at a page; empty if it can."""
    return browser.missing() or ("" if importlib.util.find_spec("axe_core_python") else "axe-core-python is missing")


def barriers(window: Browser) -> list[tuple[str, list[str]]]:
    """Return the rules that the page in a window breaks, if serious, and the first elements that break each."""
    window.run((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    window.run(
        "window.found = null; axe.run({resultTypes: ['violations']}).then(result => window.found = result.violations)"
    )
    wait_until(lambda: window.run("return window.found !== null"))
    found: list[dict[str, Any]] = window.run("return window.found")
    return [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in found if one["impact"] in WORST]
