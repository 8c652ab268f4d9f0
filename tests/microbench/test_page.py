"""The page of a profile is complete, makes no request, and can be read in a browser."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from support import axe
from support.browser import Browser, browser, missing, wait_until
from support.firefox import firefox
from support.firefox import missing as no_firefox
from support.markup import Markup, file_in
from support.shapes import MPI, QUICK

from smp._output import html
from smp.microbench.command import main
from smp.microbench.report import plots, whole_report
from smp.microbench.report.page import page_of
from smp.profiles.profile import Profile, ProfileWarning
from smp.profiles.published import PUBLISHED, published_machine

MOST_SCRIPT = 20_000
MOST_BYTES = 300_000
"""Bytes of the script and of the page of a small profile."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
SHOW = "box.scrollIntoView({block: 'center', behavior: 'instant'})"
DOTS = "return box.querySelectorAll('svg[role=img] .dot').length"
PLACE = "const one = box.querySelector('svg[role=img] {}').getBoundingClientRect(); return [one.x, one.y, one.width]"
in_a_browser = pytest.mark.skipif(bool(missing()), reason=missing())


def load(path: Path) -> Profile:
    with warnings.catch_warnings(action="ignore", category=ProfileWarning):
        return Profile.load(path)


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load(QUICK)


@pytest.fixture(scope="module")
def page(profile: Profile) -> str:
    return page_of(profile)


def test_every_table_and_every_figure_of_the_profile_is_in_the_page(profile: Profile, page: str) -> None:
    first, *parts = whole_report.whole(profile)
    for table in [*first.tables, *(table for part in parts for table in part.tables)]:
        assert html.table(table) in page
    titles = Markup(page).texts["b"]
    for figure in plots.figures(profile.data):
        assert f'<figure id="figure-{figure.id}">' in page
        assert figure.title in titles
    drawn = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert [json.loads(one)["id"] for one in drawn] == [figure.id for figure in plots.figures(profile.data)]


def test_sections_that_are_not_valid_are_named_first_and_in_the_contents(page: str, profile: Profile) -> None:
    bad = [name for name in profile.data if getattr(profile.data[name], "get", {}.get)("valid") is False]
    warned, contents = page.split("</details>")[0], page.split("</nav>")[0]
    assert bad
    for name in bad:
        assert f'<a href="#{name}">Read more</a>' in warned
        assert re.search(f'<a href="#{name}">[^\n]*, not valid</span>', contents)


def test_the_same_profile_gives_the_same_bytes(profile: Profile, page: str) -> None:
    assert page_of(load(QUICK)) == page


def test_the_profile_returns_its_page(profile: Profile, page: str) -> None:
    assert profile.page() == page


def test_the_page_has_the_file_of_the_profile(page: str) -> None:
    assert file_in(page) == QUICK.read_bytes()


def test_the_page_makes_no_request(page: str) -> None:
    found = Markup(page)
    assert POLICY in found.values("meta", "content")
    assert found.values("img", "src") == found.values("script", "src") == []
    assert all(href.startswith(("#", "data:")) for tag in ("a", "link") for href in found.values(tag, "href"))
    assert re.findall(r"https?://[\w./]*", page) == ["http://www.w3.org/2000/svg"]  # the name of a language
    assert not re.search(r"\burl\((?!#)|@import|fetch\(|XMLHttpRequest|\bimport\b", page)


def test_the_script_and_the_page_are_small(page: str) -> None:
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    assert len(scripts[0].encode()) <= MOST_SCRIPT
    assert len(page.encode()) <= MOST_BYTES


def test_a_name_of_a_machine_and_a_reason_stay_text() -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    data = json.loads(QUICK.read_text(encoding="utf-8"))
    data["machine"]["name"] = hostile
    data["latency"]["levels"][0] |= {"valid": False, "why": [hostile]}
    data["latency"]["random"][0] |= {"valid": False, "why": [hostile]}
    page = page_of(Profile(data))
    assert Markup(page).tags["img"] == 0
    assert hostile in unescape(page)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_machine_has_a_page(name: str) -> None:
    assert name in Markup(page_of(published_machine(name))).texts["h1"][0]


def test_a_machine_of_mpi_has_a_page() -> None:
    page = page_of(load(MPI))
    assert 'id="nodes"' in page
    assert "--machine mpi:4" in page


def test_the_command_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(QUICK, tmp_path / "profile.json")
    monkeypatch.setattr(plots, "draw", lambda data, samples, folder: [])
    assert main(["--profile", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "index.html" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]
    assert (tmp_path / "out/index.html").read_text(encoding="utf-8") == page_of(load(tmp_path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def window(page: str, folder: Path) -> Iterator[Browser]:
    (folder / "index.html").write_text(page, encoding="utf-8")
    with browser(folder) as opened:
        opened.resize(1280)
        opened.open(folder / "index.html")
        opened.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder / "saved"))
        opened.run(f"window.box = document.getElementById('figure-latency-random'); {SHOW}")
        wait_until(lambda: opened.run(DOTS))
        yield opened


@in_a_browser
def test_a_browser_draws_every_figure_without_errors_or_requests(window: Browser) -> None:
    empty = "return [...document.querySelectorAll('figure')].filter(box => !box.querySelector('svg[role=img] .frame'))"
    assert window.run(f"{empty}.map(box => box.id)") == []
    assert window.run("return document.querySelectorAll('svg [d*=NaN], svg [x*=NaN], svg [y*=NaN]').length") == 0
    assert window.errors() == []
    assert window.run("return performance.getEntriesByType('resource').map(one => one.name)") == []


@in_a_browser
def test_the_pointer_names_a_point_and_the_keys_step_through_all(window: Browser) -> None:
    x, y, size = window.run(PLACE.format(".dot"))
    window.mouse("mouseMoved", x + size / 2, y + size / 2)
    assert "array: " in window.run("return box.querySelector('.tip').textContent")
    window.run("box.querySelector('svg[role=img]').focus()")
    key = "box.querySelector('svg[role=img]').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}))"
    said = "return box.querySelector('[aria-live]').textContent"
    heard = [window.run(f"{key}; {said}") for _ in range(window.run(DOTS))]
    assert len(set(heard)) == len(heard)
    assert any("not valid: " in one for one in heard) == window.run("return box.querySelector('.bad') !== null")


@in_a_browser
def test_dragging_zooms_and_escape_goes_back(window: Browser) -> None:
    ticks = "return [...box.querySelectorAll('svg[role=img] .tick')].map(one => one.textContent)"
    x, y, width = window.run(PLACE.format(".frame"))
    whole = window.run(ticks)
    window.mouse("mousePressed", x + width / 4, y + width / 10)
    window.mouse("mouseMoved", x + width / 2, y + width / 5)
    window.mouse("mouseReleased", x + width / 2, y + width / 5)
    assert window.run(ticks) != whole
    window.run("box.querySelector('svg[role=img]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert window.run(ticks) == whole


@in_a_browser
def test_a_button_of_the_legend_hides_its_series(window: Browser) -> None:
    before = window.run(DOTS)
    click = "const one = box.querySelector('.legend button'); one.click(); return one.getAttribute('aria-pressed')"
    assert window.run(click) == "false"
    assert window.run(DOTS) < before
    assert window.run(click) == "true"
    assert window.run(DOTS) == before


@in_a_browser
def test_a_figure_and_the_profile_are_saved_as_files(window: Browser, folder: Path) -> None:
    window.run("box.querySelectorAll('.tools button').forEach(one => one.click())")
    window.run("document.getElementById('file').click()")
    saved, names = folder / "saved", ("latency-random.csv", "latency-random.svg", "profile.json")
    wait_until(lambda: all((saved / name).exists() for name in names))
    assert (saved / "profile.json").read_bytes() == QUICK.read_bytes()
    assert (saved / "latency-random.csv").read_text(encoding="utf-8").startswith('"panel","series","x","y"')
    picture = (saved / "latency-random.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    legend = window.run("return [...box.querySelectorAll('.legend button')].map(one => one.textContent)")
    assert len(legend) > 1
    assert all(f">{name}<" in picture for name in legend)
    assert window.run("return box.querySelectorAll('svg[role=img] svg').length") == 0  # the legend is only in the file


@in_a_browser
def test_a_narrow_screen_needs_no_scrolling_sideways_and_the_theme_changes(window: Browser) -> None:
    window.resize(360)
    wait_until(lambda: window.run("return document.documentElement.scrollWidth <= 360"))
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = window.run(colour)
    window.run("document.getElementById('theme').click()")
    assert window.run(colour) != light
    window.resize(1280)


@pytest.mark.slow
@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(window: Browser, theme: str) -> None:
    window.run(f"document.documentElement.dataset.theme = '{theme}'")
    window.run("[...document.querySelectorAll('details')].slice(0, 5).forEach(one => one.open = true)")
    assert axe.barriers(window) == []


@pytest.mark.slow
@pytest.mark.skipif(bool(no_firefox()), reason=no_firefox())
def test_firefox_draws_every_figure_without_errors_or_requests(page: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    drawn = "return document.querySelectorAll('figure svg[role=img] .frame').length"
    with firefox(tmp_path) as window:
        window.open(tmp_path / "index.html")
        wait_until(lambda: window.run(f"{drawn} >= document.querySelectorAll('figure').length"))
        assert window.errors() == []
        assert window.run("return performance.getEntriesByType('resource').length") == 0
