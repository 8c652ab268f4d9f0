"""The first pass over a loop: the loops that it calls become loops that count, and it returns its count.

    y = f(x)                 ─▶     t = counting_f(x);  y = t[0];  load += t[1][0];  store += t[1][1] ...
    return y                 ─▶     return y, (load, store, ...)

The pass runs before Numba infers the types.  The count of the loop's own operations is added later (see `blocks`).
"""

from __future__ import annotations

import operator
from types import FunctionType, ModuleType
from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions, get_definition, guard, mk_unique_var

from .. import keys
from ..places import delay
from .operations import DECLARED, TOTALS

OURS = "$smp_"
"""Beginning of the names of all variables that counting adds."""
RETURNED = f"{OURS}totals"
"""Beginning of the name of the variable with the totals that a loop returns."""
_LIBRARIES = {"numpy", "numba", "math", "operator", "builtins", "cmath", "llvmlite"}


def total_of(kind: str) -> str:
    """Return the name of the variable that holds the number of operations of a kind."""
    return f"{OURS}{kind}"


def function_of(called: Any) -> FunctionType | None:
    """Return the function of Python that a called object compiles; None if it is a primitive, or of a library."""
    if isinstance(called, FunctionType) and keys.LOOP in vars(called):
        return function_of(vars(called)["__wrapped__"]) if hasattr(called, "__wrapped__") else None
    if hasattr(called, "py_func"):
        return function_of(called.py_func)
    if not isinstance(called, FunctionType) or hasattr(called, "meaning") or called is delay:
        return None
    return None if called.__module__.partition(".")[0] in _LIBRARIES else called


def called_object(func_ir: Any, variable: Any) -> Any:
    """Return the object that a variable of the intermediate language stands for; None if it is not known."""
    made = guard(get_definition, func_ir, variable)
    if isinstance(made, ir.Global | ir.FreeVar | ir.Const):
        return made.value
    if isinstance(made, ir.Expr) and made.op == "getattr":
        owner = called_object(func_ir, made.value)
        return getattr(owner, made.attr, None) if isinstance(owner, ModuleType) else None
    return None


@register_pass(mutates_CFG=False, analysis_only=False)
class CountCallees(FunctionPass):  # type: ignore[misc]
    """Numba's pass that lets a loop call loops that count, and return its count."""

    _name = "smp_count_callees"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the function in place."""
        func_ir, twin_of = state.func_ir, state.pipeline.twin_of
        first = min(func_ir.blocks)
        for label, block in func_ir.blocks.items():
            body: list[Any] = []
            for statement in block.body:
                loop = self._called(func_ir, statement)
                if loop is not None:
                    body += _counted_call(statement, block.scope, twin_of(loop))
                elif isinstance(statement, ir.Return):
                    body += _returned(statement, block.scope)
                else:
                    body.append(statement)
            if label == first:
                place = 1 + max((k for k, one in enumerate(body) if _is_argument(one)), default=-1)
                body[place:place] = _zeros(block.scope, block.loc)
            block.body = body
        func_ir._definitions = build_definitions(func_ir.blocks)
        return True

    @staticmethod
    def _called(func_ir: Any, statement: Any) -> Any:
        """Return the loop, or the function of Python, that a statement calls; None if it calls none."""
        value = getattr(statement, "value", None)
        if isinstance(statement, ir.Assign) and isinstance(value, ir.Expr) and value.op == "call":
            called = called_object(func_ir, value.func)
            return called if function_of(called) is not None else None
        return None


def _variable(scope: Any, name: str, loc: Any) -> Any:
    """Return a new variable."""
    return ir.Var(scope, mk_unique_var(f"{OURS}{name}"), loc)


def _is_argument(statement: Any) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg)


def _zeros(scope: Any, loc: Any) -> list[Any]:
    """Return the statements that set the numbers of all kinds to zero."""
    whole, real, zero = (ir.Var(scope, f"{OURS}{name}", loc) for name in ("int64", "float64", "zero"))
    made: list[Any] = [
        ir.Assign(ir.Global("int64", types.int64, loc), whole, loc),
        ir.Assign(ir.Global("float64", types.float64, loc), real, loc),
        ir.Assign(ir.Const(0, loc), zero, loc),
    ]
    for kind in TOTALS:
        number = ir.Expr.call(real if kind == DECLARED else whole, [zero], (), loc)
        made.append(ir.Assign(number, ir.Var(scope, total_of(kind), loc), loc))
    return made


def _counted_call(statement: Any, scope: Any, twin: Any) -> list[Any]:
    """Return the statements that call a loop that counts, and add its count."""
    loc, call = statement.loc, statement.value

    def variable(name: str) -> Any:
        return _variable(scope, name, loc)

    function, pair, counts = variable("function"), variable("pair"), variable("counts")
    made: list[Any] = [
        ir.Assign(ir.Global(twin.__name__, twin, loc), function, loc),
        ir.Assign(ir.Expr.call(function, call.args, call.kws, loc, vararg=call.vararg), pair, loc),
        ir.Assign(ir.Expr.static_getitem(pair, 0, None, loc), statement.target, loc),
        ir.Assign(ir.Expr.static_getitem(pair, 1, None, loc), counts, loc),
    ]
    for place, kind in enumerate(TOTALS):
        number, sum_ = variable("number"), ir.Var(scope, total_of(kind), loc)
        made.append(ir.Assign(ir.Expr.static_getitem(counts, place, None, loc), number, loc))
        made.append(ir.Assign(ir.Expr.binop(operator.add, sum_, number, loc), sum_, loc))
    return made


def _returned(statement: Any, scope: Any) -> list[Any]:
    """Return the statements that return a result together with the count."""
    loc = statement.loc
    totals, pair, cast = (_variable(scope, name, loc) for name in ("totals", "result", "returned"))
    numbers = [ir.Var(scope, total_of(kind), loc) for kind in TOTALS]
    return [
        ir.Assign(ir.Expr.build_tuple(numbers, loc), totals, loc),
        ir.Assign(ir.Expr.build_tuple([statement.value, totals], loc), pair, loc),
        ir.Assign(ir.Expr.cast(pair, loc), cast, loc),
        ir.Return(cast, loc),
    ]
