"""Lets a package offer names from its modules, each of which is imported when one of its names is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def handed_on(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    modules : mapping of str to str
        For each name, the module of the package that defines it, such as ``.experiments.trials``.
    """

    def found(name: str) -> Any:
        if name in modules:
            return getattr(importlib.import_module(modules[name], package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found
