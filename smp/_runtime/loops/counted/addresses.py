"""Index arithmetic that costs nothing, because a load or a store adds a constant to its address by itself.

grid[i - 1, j]      the subtraction is a part of the load
k = i - 1
a[k] = b[k] + k     here it is counted, since ``k`` is used as a number, too
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

from numba.core import ir, types

_ADDED = (operator.add, operator.iadd, operator.sub, operator.isub)


class Addresses:
    """The variables of a function whose only use is in the index of an array.

    Parameters
    ----------
    blocks : dict of int to Block
        Blocks of the function, in Numba's intermediate language, after type inference.
    typemap : dict of str to Type
    """

    def __init__(self, blocks: dict[int, Any], typemap: dict[str, Any]) -> None:
        self._typemap = typemap
        self._uses: dict[str, list[Any]] = defaultdict(list)
        self._constants: set[str] = set()
        for block in blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    if isinstance(statement.value, ir.Const | ir.Global | ir.FreeVar):
                        self._constants.add(statement.target.name)
                    elif isinstance(statement.value, ir.Var):
                        self._uses[statement.value.name].append(statement)
                        continue
                for used in statement.list_vars():
                    if not (isinstance(statement, ir.Assign) and used is statement.target):
                        self._uses[used.name].append(statement)
        self._known: dict[str, bool] = {}

    def folded(self, target: Any, operation: Any) -> bool:
        """Return True if the operation that makes ``target`` is a part of the loads and stores that use it."""
        return (
            operation.fn in _ADDED
            and any(self._is_constant(side) for side in (operation.lhs, operation.rhs))
            and self._is_address(target.name)
        )

    def _is_constant(self, variable: Any) -> bool:
        return variable.name in self._constants or isinstance(self._typemap[variable.name], types.Literal)

    def _is_address(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = False  # for a variable that is made from itself
            uses = self._uses[name]
            self._known[name] = bool(uses) and all(self._only_addresses(name, use) for use in uses)
        return self._known[name]

    def _only_addresses(self, name: str, use: Any) -> bool:
        """Return True if a statement uses a variable as an index, or makes a variable of it that is only that."""
        if isinstance(use, ir.SetItem):
            return use.index.name == name and name not in (use.value.name, use.target.name)
        if not isinstance(use, ir.Assign):
            return False
        value = use.value
        if isinstance(value, ir.Var):
            return self._is_address(use.target.name)
        if not isinstance(value, ir.Expr):
            return False
        if value.op == "getitem":
            return bool(value.index.name == name and value.value.name != name)
        if value.op == "build_tuple":
            return self._is_address(use.target.name)
        if value.op == "call":  # a conversion between whole numbers
            called = self._typemap[value.func.name]
            whole = isinstance(called, types.NumberClass) and isinstance(self._typemap[use.target.name], types.Integer)
            return whole and self._is_address(use.target.name)
        return False
