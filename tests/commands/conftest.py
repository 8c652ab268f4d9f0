"""Starts the pages and examples that are to be tested in the background, and tests them last."""

import tempfile
from pathlib import Path

import pytest
from support.background import Background

_running: list[Background] = []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of programs that run in the background to the end."""
    items.sort(key=lambda item: "background" in getattr(item, "fixturenames", ()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the programs of the tests that were selected."""
    jobs = [
        item.callspec.params["job"]
        for item in session.items
        if isinstance(item, pytest.Function) and "background" in item.fixturenames
    ]
    if jobs and not session.config.option.collectonly:
        _running.append(Background(Path(tempfile.mkdtemp(prefix="smp-background-"))))
        _running[0].start(jobs)


def pytest_sessionfinish() -> None:
    """End the programs that are still running, after Ctrl-C for example."""
    for one in _running:
        one.stop()


@pytest.fixture(scope="session")
def background() -> Background:
    """The programs that run in the background."""
    return _running[0]
