"""The site: the Markdown pages as they are, and a reference made from the docstrings. ``scripts/site`` builds it."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from textwrap import indent

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import smp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import plot_sections  # noqa: E402
import reference_pages  # noqa: E402

project = "smp"
html_title = f"smp {smp.__version__}"
html_theme = "furo"
html_css_files = ["site.css"]
html_static_path = ["static"]
html_copy_source = False  # the tests would take the copies for pages
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
nb_execution_mode = "auto"  # only notebooks, which have no outputs; the tests run the programs of the pages
nb_execution_in_temp = True  # a measurement writes its report there
nb_execution_timeout = 600  # seconds for a cell; on two CPUs, a notebook takes ten
nb_execution_raise_on_error = True
nb_merge_streams = True
logging.getLogger("traitlets").setLevel(logging.WARNING)  # otherwise it names each notebook on the standard error
myst_heading_anchors = 4
highlight_language = "text"  # of blocks that name no language: outputs and commands

default_role = "py:obj"
add_module_names = False
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "groupwise"
napoleon_use_param = napoleon_use_rtype = False

TABLE = re.compile(r"^\| to (.+?) \|.*\n\|[-|]+\n((?:\|.+\n)+)", re.MULTILINE)
"""Tables of the index: what a reader wants, and the page to read."""
PAGE = re.compile(r"\[(.+)\]\((.+)\.(?:ipynb|md|rst)\)")
PROFILE = HERE.parent / "profiles" / "amd-epyc-2-cpus.json"
"""The profile whose figures the page on plots shows."""
BELOW = {"decisions/README": {"Records": ["[0-9]*"]}, "reference": {"Modules": ["reference/*"]}}
"""Further lists for the navigation: by page, title and pages."""
ROW = re.compile(r"\w[\w, ]*  +\S")
"""A row of a table that is not indented."""
NAME = re.compile(r"(smp(?:\.\w+)+)(?:\(.*\))?")
"""The full name of an object, also with arguments."""


def navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the lists of pages for the navigation, which the readers of the Markdown files need not see."""
    text = source[0] = source[0].replace("(../CHANGELOG.md)", "(changelog.rst)")
    groups = BELOW.get(page, {})
    if page == "index":
        links = {caption.capitalize(): PAGE.findall(rows) for caption, rows in TABLE.findall(text)}
        groups = {caption: [f"{title} <{page}>" for title, page in pages] for caption, pages in links.items()}
    for caption, pages in groups.items():
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *pages, "```\n"])


def plots(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the figures of a profile to the page on plots."""
    if page == "plots":
        source[0] = "\n\n".join([source[0], *plot_sections.sections(PROFILE, HERE / "reference" / "plots")])


def literal_tables(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Show the tables in the docstring of a module as they are."""
    if what == "module":
        parts = "\n".join(lines).split("\n\n")
        tables = [part.startswith("    ") or all(map(ROW.match, part.splitlines())) for part in parts]
        shown = ["::\n\n" + indent(part, "    ") if table else part for part, table in zip(parts, tables, strict=True)]
        lines[:] = "\n\n".join(shown).split("\n")


def fields(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples: the docstring of the class describes them."""
    return True if str(obj.__doc__).startswith("Alias for field") else None


def link_names(app: Sphinx, tree: nodes.document) -> None:
    """Let each full name of an object lead to its entry in the reference, if it has one."""
    for literal in list(tree.findall(nodes.literal)):
        found = NAME.fullmatch(literal.astext())
        if found and not isinstance(literal.parent, nodes.reference | pending_xref):
            link = pending_xref("", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=found[1])
            literal.replace_self(link)


def other_module(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element) -> nodes.Element | None:
    """Resolve the name of a class, or of a member of one, that another module describes."""
    python = env.domains.python_domain
    module, _, name = node["reftarget"].rpartition(".")
    end = name if module in reference_pages.MODULES else node["reftarget"]
    found = [one for one in python.objects if one.endswith(f".{end}") and end[0].isupper()]
    if node.get("reftype") != "obj" or len(found) != 1:
        return None
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, text)


def setup(app: Sphinx) -> None:
    """Write the pages of the reference, and register the functions above."""
    reference_pages.write(HERE / "reference")
    app.connect("source-read", navigation)
    app.connect("source-read", plots)
    app.connect("autodoc-process-docstring", literal_tables, priority=100)
    app.connect("autodoc-skip-member", fields)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", other_module)
