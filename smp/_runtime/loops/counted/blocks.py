"""The second pass over a loop: each basic block counts how often it runs, and its operations are added up at the end.

    block 3     s = s + a[i]           ─▶    runs_3 = runs_3 + 1;  s = s + a[i]
    at return                                flop = flop + runs_3;  load = load + runs_3

It runs when the types are known, just before Numba makes machine code.  A counter is a variable of the loop, so LLVM
keeps it in a register, or computes it from the number of passes.  An operation on whole arrays adds its own count.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import mk_unique_var
from numba.core.typing import signature

from ..keys import INLINE
from .arrays import Work
from .callees import OURS, RETURNED, total_of
from .operations import Count, total
from .statements import Statements

_INT = types.int64


@register_pass(mutates_CFG=False, analysis_only=False)
class CountBlocks(FunctionPass):  # type: ignore[misc]
    """Numba's pass that lets a loop count its operations."""

    _name = "smp_count_blocks"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the function in place."""
        statements = Statements(state.func_ir, state.typemap, state.calltypes)
        blocks = state.func_ir.blocks
        counts: dict[int, list[Count]] = defaultdict(list)
        writer = _Writer(state, blocks[min(blocks)])
        for label, block in blocks.items():
            body: list[Any] = []
            for statement in block.body:
                body.append(statement)
                work = statements.work(statement)
                counts[label].append(work.fixed)
                if work.number is not None:
                    body += writer.elements(work, statement.loc)
            block.body = body
            for at, count in statements.on_entry(label):
                counts[at].append(count)
        first = min(blocks)
        counts[first].append({"call": 0 if getattr(state.func_id.func, INLINE, False) else 1})
        summed = {label: total(*found) for label, found in counts.items()}
        counted = {label: count for label, count in summed.items() if any(count.values())}
        runs = {label: writer.variable(f"runs_{label}") for label in counted}
        for label, variable in runs.items():
            blocks[label].body = _after_arguments(blocks[label].body, writer.increased(variable))
        blocks[first].body = _after_arguments(
            blocks[first].body, [one for variable in runs.values() for one in writer.zero(variable)]
        )
        at_end = [one for label in counted for one in writer.summed(counted[label], runs[label])]
        for block in blocks.values():
            for place, statement in enumerate(block.body):
                if isinstance(statement, ir.Assign) and statement.target.name.startswith(RETURNED):
                    block.body = [*block.body[:place], *at_end, *block.body[place:]]
                    break
        return True


def _after_arguments(body: list[Any], made: list[Any]) -> list[Any]:
    """Return a block with statements inserted behind the reading of the arguments."""
    place = 1 + max((k for k, one in enumerate(body) if _is_argument(one)), default=-1)
    return [*body[:place], *made, *body[place:]]


def _is_argument(statement: Any) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg)


class _Writer:
    """Makes statements whose types are known."""

    def __init__(self, state: Any, block: Any) -> None:
        self._state, self._scope, self._loc = state, block.scope, block.loc

    def variable(self, name: str, kind: Any = _INT) -> Any:
        made = ir.Var(self._scope, mk_unique_var(f"{OURS}{name}"), self._loc)
        self._state.typemap[made.name] = kind
        return made

    def zero(self, variable: Any) -> list[Any]:
        return [ir.Assign(ir.Const(0, self._loc), variable, self._loc)]

    def increased(self, variable: Any) -> list[Any]:
        one = self.variable("one")
        return [
            ir.Assign(ir.Const(1, self._loc), one, self._loc),
            self._computed(variable, operator.add, variable, one),
        ]

    def _computed(self, target: Any, function: Any, left: Any, right: Any) -> Any:
        made = ir.Expr.binop(function, left, right, self._loc)
        self._state.calltypes[made] = signature(_INT, _INT, _INT)
        return ir.Assign(made, target, self._loc)

    def summed(self, count: Count, number: Any) -> list[Any]:
        """Return statements that add ``number`` times a count to the totals."""
        made = []
        for kind, times in count.items():
            if times:
                factor, product = self.variable("factor"), self.variable("product")
                whole = ir.Var(self._scope, total_of(kind), self._loc)
                made += [
                    ir.Assign(ir.Const(times, self._loc), factor, self._loc),
                    self._computed(product, operator.mul, number, factor),
                    self._computed(whole, operator.add, whole, product),
                ]
        return made

    def elements(self, work: Work, loc: Any) -> list[Any]:
        """Return statements that add the count of each element, times the number of elements."""
        dispatcher = self._state.pipeline.helper(work.number)
        kind = types.Dispatcher(dispatcher)
        function, number = self.variable("elements", kind), self.variable("number")
        made = ir.Expr.call(function, list(work.given), (), loc)
        kinds = tuple(self._state.typemap[one.name] for one in work.given)
        self._state.calltypes[made] = kind.get_call_type(self._state.typingctx, kinds, {})
        called = [
            ir.Assign(ir.Global(dispatcher.__name__, dispatcher, loc), function, loc),
            ir.Assign(made, number, loc),
        ]
        return called + self.summed(work.each, number)
