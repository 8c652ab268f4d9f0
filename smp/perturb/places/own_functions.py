"""Functions of a script whose calls are to be places: they are decorated in its syntax tree, before it is run.

    def push(stack): ...        ─▶        @decorator("script.push")
                                          def push(stack): ...

They do not exist before the script runs, and may be called as soon as they are defined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from .factors import check_name
from .functions import MAIN, NotAPlace

DECORATOR = "__smp_place__"
"""Name of `functions.place_for_good` among the globals of the script."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_places(source: bytes, path: Path, functions: Sequence[str]) -> tuple[ast.Module, tuple[str, ...]]:
    """Return the syntax tree of a script with its own functions decorated, and the names of all other functions.

    Parameters
    ----------
    source : bytes
    path : Path
        File of the script. Its own functions are named by this name without its suffix, or by ``__main__``.
    functions : sequence of str

    Raises
    ------
    SyntaxError
        If the source is not Python.
    ValueError
        If the script defines no such function.
    """
    tree = ast.parse(source, str(path))
    defined: dict[str, list[_Function]] = {}
    for name, node in _functions(tree, ""):
        defined.setdefault(name, []).append(node)
    named: dict[str, str] = {}
    others = []
    for name in functions:
        check_name(name)
        module, _, inner = name.partition(".")
        if module not in (MAIN, path.stem) or not inner:
            others.append(name)
            continue
        if inner not in defined:
            near = get_close_matches(inner, defined, 3)
            raise NotAPlace(
                f"{name} does not exist: {path} has no function {inner!r}"
                + (f"; it has {', '.join(near)}" if near else "")
            )
        if named.setdefault(inner, name) != name:
            raise NotAPlace(f"{name} and {named[inner]} are the same function: give one of the names")
        for node in defined[inner]:
            first = min(one.lineno for one in (node, *node.decorator_list))
            call = ast.Call(ast.Name(DECORATOR, ast.Load()), [ast.Constant(name)], [])
            for one in ast.walk(call):
                if isinstance(one, ast.expr):
                    one.lineno = one.end_lineno = first
                    one.col_offset = one.end_col_offset = 0
            node.decorator_list.insert(0, call)
    return tree, tuple(others)


def _functions(node: ast.AST, within: str) -> Iterator[tuple[str, _Function]]:
    """Yield the functions that a script defines for itself and for its classes, wherever their statements stand."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, _Function):
            yield within + inner.name, inner
        elif isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{within}{inner.name}.")
        else:
            yield from _functions(inner, within)
