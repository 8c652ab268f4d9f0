"""The site builds without a warning, and has every page and every public name."""

import importlib
import pkgutil
import re
import shutil
import subprocess
import warnings
from html import unescape
from pathlib import Path

import pytest
from support.machines import ROOT
from support.profiles import whole

import smp
from smp.microbench.report.plots import figures
from smp.profiles.profile import Profile, ProfileWarning

pytest.importorskip("sphinx", reason="the site needs Sphinx: pip install -e '.[docs]'")
pytestmark = pytest.mark.docs
DOORS = [f"smp.{one.name}" for one in pkgutil.iter_modules(smp.__path__) if not one.name.startswith("_")]
MADE = ("_build", "reference", "smp-report", ".ipynb_checkpoints")
NOTEBOOKS = {path.name for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
MODULES = ["smp", *DOORS, "smp.models.lopc"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy of the pages, and with a profile for the notebooks; the checkout stays as it is."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs", ignore=shutil.ignore_patterns(*MADE))
    for folder in ("scripts", "profiles"):
        shutil.copytree(ROOT / folder, place / folder)
    shutil.copy(ROOT / "CHANGELOG.md", place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMP_DATA_DIR", str(place / "data"))
        whole().keep()
        done = subprocess.run([place / "scripts/site"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "IPKernelApp" not in line]  # of how notebooks are connected
    assert said == []
    assert {path.name for path in (place / "docs/notebooks").iterdir()} == NOTEBOOKS
    return place / "docs/_build/site"


def test_the_site_has_every_page(site: Path) -> None:
    found = [page for kind in ("*.md", "*.ipynb") for page in (ROOT / "docs").rglob(kind)]
    pages = [page.relative_to(ROOT / "docs") for page in found if "_build" not in page.parts]
    assert len(pages) > 60
    assert [str(page) for page in pages if not (site / page.with_suffix(".html")).exists()] == []


def test_notebooks_are_shown_with_their_outputs(site: Path) -> None:
    shown = {name: (site / "notebooks" / name).with_suffix(".html").read_text(encoding="utf-8") for name in NOTEBOOKS}
    assert all("cell_output" in page for page in shown.values())
    assert "with 1 preemption, schedule [" in shown["races-and-deadlocks.ipynb"]
    assert shown["list-ranking-lab.ipynb"].count("<details") == 4  # the answers


def test_the_page_on_plots_shows_every_figure_of_a_profile(site: Path) -> None:
    with warnings.catch_warnings(action="ignore", category=ProfileWarning):
        profile = Profile.load(ROOT / "profiles/amd-epyc-2-cpus.json")
    page = (site / "plots.html").read_text(encoding="utf-8")
    shown = re.findall(r'<img alt="([^"]+)"', page)
    assert [unescape(one) for one in shown] == [f"{one.title}: {one.reading}" for one in figures(profile.data)]


def test_every_image_of_a_page_is_in_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        for image in re.findall(r'<img [^>]*src="([^"]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / image).exists(), f"{page.name}: {image}"


@pytest.mark.parametrize("name", MODULES)
def test_the_reference_has_every_public_name(site: Path, name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [one for one, value in vars(module).items() if isinstance(value, type)])
    page = (site / f"reference/{name}.html").read_text(encoding="utf-8")
    shown = set(re.findall(r' id="(?:module-)?(smp[\w.]*)"', page))
    others = set(re.findall(r'<li><p><code[^>]*><span class="pre">(\w+)</span></code>: <a ', page))
    assert name in shown
    assert [one for one in names if f"{name}.{one}" not in shown and one not in others] == []
