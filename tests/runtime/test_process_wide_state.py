"""The list of process-wide state in docs/architecture.md is complete, and every module in it has such state."""

import ast
import functools
import re
from collections.abc import Iterator

import pytest
from support.machines import ROOT

CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
COLLECTIONS = ("dict", "list", "set", "collections.deque", "collections.Counter", "collections.defaultdict")
LASTING = re.compile(r"(threading|weakref)\.\w+|ContextVar|np\.(zeros|empty|ones|full)")
CALLS = re.compile(
    r"os\.(register_at_fork|chdir|umask|sched_setaffinity)|atexit\.register|faulthandler\.\w+|gc\.(disable|enable|freeze)"
    r"|_?signal\.(signal|set_wakeup_fd|pthread_sigmask)|warnings\.simplefilter|.*\.prctl"
)
CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}


def dotted(node: ast.expr) -> str:
    """Return the names of an expression like ``a.b.c``, with a question mark for anything else before the names."""
    names = list[str]()
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "?", *names[::-1]])


def changed(tree: ast.Module) -> set[str]:
    """Return the names of the containers that a module changes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            found.add(ast.unparse(node.func.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(ast.unparse(node.value))
    return found


def with_state(tree: ast.Module) -> set[str]:
    """Return the names of a module's classes whose objects have state: with an ``__init__``, or local to a thread."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {
        one.name
        for one in classes
        if any(ast.unparse(base) == "threading.local" for base in one.bases)
        or any(isinstance(member, ast.FunctionDef) and member.name == "__init__" for member in one.body)
    }


def state(tree: ast.Module) -> Iterator[str]:
    """Yield a short text for each piece of process-wide state in a module."""
    changes, classes = changed(tree), with_state(tree)
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        names = [ast.unparse(name) for name in (node.targets if isinstance(node, ast.Assign) else [node.target])]
        made = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        container = isinstance(node.value, CONTAINERS) or made in COLLECTIONS
        if made in classes or LASTING.fullmatch(made) or (container and changes & set(names)):
            yield f"{names[0]} = {ast.unparse(node.value):.40}"
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            yield f"global {', '.join(inner.names)}"
        elif isinstance(inner, ast.Call) and CALLS.fullmatch(dotted(inner.func)):
            yield dotted(inner.func)
        elif isinstance(inner, ast.Attribute) and dotted(inner) == "os.environ":
            yield "os.environ"
        elif isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            if re.match(r"sys\.|linecache\.", ast.unparse(inner)):
                yield ast.unparse(inner)
        elif isinstance(inner, ast.FunctionDef):
            for decorator in inner.decorator_list:
                if re.match(r"functools\.(lru_)?cache\b", ast.unparse(decorator)):
                    yield f"the cache of {inner.name}()"
                elif ast.unparse(decorator) == "atexit.register":
                    yield f"atexit: {inner.name}()"


@functools.cache
def found() -> dict[str, list[str]]:
    modules = {}
    for path in sorted((ROOT / "smp").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "smp").with_suffix("").parts)
        modules[name] = sorted(set(state(ast.parse(path.read_text()))))
    return modules


def listed() -> set[str]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("## Process-wide state")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")][1:]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def test_every_module_that_has_state_is_listed() -> None:
    missing = {name: what for name, what in found().items() if what and name not in listed()}
    assert not missing


def test_every_listed_module_exists_and_has_state() -> None:
    modules = found()
    assert not listed() - modules.keys()
    assert not {name for name in listed() if not modules[name]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import threading\n_lock = threading.RLock()", "_lock = threading.RLock()"),
        ("_held: dict[str, int] = {}\ndef hold(k): _held[k] = 1", "_held = {}"),
        ("from weakref import WeakSet\n_all = set()\ndef add(x): _all.add(x)", "_all = set()"),
        ("_one = 1\ndef f():\n    global _one\n    _one = 2", "global _one"),
        ("class _Here(threading.local): pass\nhere = _Here()", "here = _Here()"),
        ("class Places:\n    def __init__(self): self.a = {}\nP = Places()", "P = Places()"),
        ("@functools.cache\ndef f(): pass", "the cache of f()"),
        ("@atexit.register\ndef f(): pass", "atexit: f()"),
        ("x: ContextVar[int] = ContextVar('x')", "x = ContextVar('x')"),
        ("NAMES = {'a': 1}\n_ROWS = [1, 2]\ndef f(): return NAMES['a'], _ROWS", None),
    ],
)
def test_process_wide_state_is_recognised(text: str, what: str | None) -> None:
    assert list(state(ast.parse(text))) == ([] if what is None else [what])
