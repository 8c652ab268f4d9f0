"""The page of a report is opened in a browser, or an error says why not."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

import smp


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not found.append(address))
    return found


def test_the_page_of_a_folder_and_a_page_are_opened(opened: list[str], tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("<!doctype html>", encoding="utf-8")
    assert smp.open_page(tmp_path) == smp.open_page(page) == page
    assert opened == [page.as_uri()] * 2


def test_a_missing_page_is_an_error(opened: list[str], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no page .*index\.html: python -m smp\.microbench measures"):
        smp.open_page(tmp_path)
    assert opened == []


def test_a_computer_without_a_browser_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    with pytest.raises(OSError, match="no browser can be started here"):
        smp.open_page(tmp_path)
