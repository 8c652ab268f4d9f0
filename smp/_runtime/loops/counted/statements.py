"""The count of each statement of a loop, in Numba's intermediate language after type inference.

A statement that is not known raises `Unsupported`, which names the function, the line, and the ways out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import ir

from smp.errors import Unsupported

from .. import atomics
from ..places import delay
from . import arrays
from .addresses import Addresses
from .arrays import Work
from .callees import OURS, called_object
from .operations import NOTHING, Count, total
from .scalars import converted, is_comparison, is_number, is_whole, operation, types, words

_NO_OPERATION = (ir.Jump, ir.Return, ir.Del, ir.Raise, ir.StaticRaise, ir.DynamicRaise, ir.PopBlock)
_FREE = {"phi", "null", "undef", "cast", "build_tuple", "exhaust_iter", "pair_second", "make_function", "dummy"}
_DIVIDED = {operator.floordiv, operator.mod}
_WHOLE = {operator.add, operator.sub, operator.mul, *_DIVIDED}
_CHANGE: Count = {"load": 1, "int": 1, "store": 1}
_PRIMITIVES: dict[Callable[..., Any], Count] = {
    atomics.load: {"load": 1},
    atomics.store: {"store": 1},
    atomics.store_release: {"store": 1},
    atomics.exchange: {"load": 1, "store": 1},
    atomics.compare_exchange: _CHANGE,
    atomics.fetch_add: _CHANGE,
    **dict.fromkeys((atomics.pause, atomics.prefetch, atomics.prefetch_write, atomics.flush, delay), NOTHING),
}


class Statements:
    """The statements of one function.

    Parameters
    ----------
    func_ir : FunctionIR
    typemap : dict of str to Type
    calltypes : dict of Expr to Signature
    """

    def __init__(self, func_ir: Any, typemap: dict[str, Any], calltypes: dict[Any, Any]) -> None:
        self._func_ir, self._typemap, self._calltypes = func_ir, typemap, calltypes
        self._addresses = Addresses(func_ir.blocks, typemap)
        self._made: dict[str, list[Any]] = {}
        self._before: dict[int, set[int]] = {}
        for label, block in func_ir.blocks.items():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    self._made.setdefault(statement.target.name, []).append(statement.value)
            for follower in block.terminator.get_targets():
                self._before.setdefault(follower, set()).add(label)

    def on_entry(self, label: int) -> Iterator[tuple[int, Count]]:
        """Yield the counts of what a for loop does for each element, with the label of the block that does it.

        Parameters
        ----------
        label : int
            The block at the top of the loop, which finds out whether there is another element.
        """
        block = self._func_ir.blocks[label]
        for statement in block.body:
            value = getattr(statement, "value", None)
            if isinstance(value, ir.Expr) and value.op == "iternext":
                _, each = self._iteration(self._type(value.value), statement.loc)
                body = getattr(block.terminator, "truebr", label)
                yield body if self._before.get(body) == {label} else label, each

    def work(self, statement: Any) -> Work:
        """Return the count of a statement."""
        if isinstance(statement, _NO_OPERATION):
            return Work()
        if isinstance(statement, ir.Branch):
            return Work({"branch": 1})
        if isinstance(statement, ir.SetItem | ir.StaticSetItem):
            return self._set(statement)
        if isinstance(statement, ir.SetAttr) and isinstance(self._type(statement.target), types.Record):
            return Work({"store": words(self._type(statement.value))})
        if not isinstance(statement, ir.Assign):
            raise self._unknown(statement, f"the statement {statement}")
        if statement.target.name.startswith(OURS) or not isinstance(statement.value, ir.Expr):
            return Work()
        value = statement.value
        if value.op in _FREE or any(one.name.startswith(OURS) for one in value.list_vars()):
            return Work()
        found = self._expression(statement.target, value, statement.loc)
        if found is None:
            raise self._unknown(statement, self._described(value))
        return found

    def _type(self, variable: Any) -> Any:
        return self._typemap[variable.name]

    def _expression(self, target: Any, value: Any, loc: Any) -> Work | None:
        if value.op in ("binop", "inplace_binop", "unary"):
            return self._operation(target, value)
        if value.op == "call":
            return self._call(target, value)
        if value.op == "arrayexpr":
            return arrays.expression(value.expr, self._typemap, target)
        if value.op in ("getitem", "typed_getitem", "static_getitem"):
            return self._get(target, value)
        if value.op == "getattr" and value.attr == "ctypes":
            return None
        if value.op == "getattr":
            return Work({"load": words(self._type(target))} if self._is_record(value.value) else NOTHING)
        if value.op == "getiter":
            self._iteration(self._type(target), loc)
            return Work()
        if value.op == "iternext":
            return Work(self._iteration(self._type(value.value), loc)[0])
        return Work() if value.op == "pair_first" else None

    def _is_record(self, variable: Any) -> bool:
        return isinstance(self._type(variable), types.Record)

    def _operation(self, target: Any, value: Any) -> Work | None:
        operands = [value.value] if value.op == "unary" else [value.lhs, value.rhs]
        kinds = tuple(map(self._type, operands))
        if value.fn in (operator.is_, operator.is_not):
            return Work()
        if any(isinstance(kind, types.Array) for kind in kinds):
            if value.fn in (operator.matmul, operator.imatmul):
                return arrays.call("dot", tuple(operands), kinds, target, self._type(target))
            new = value.op != "inplace_binop"
            return arrays.elementwise(value.fn, kinds, self._type(target), target, new)
        whole = value.op != "unary" and all(isinstance(kind, types.Integer) for kind in kinds)
        if whole and self._addresses.folded(target, value):
            return Work()
        return self._on_numbers(value, value.fn, operands)

    def _on_numbers(self, value: Any, function: Any, operands: list[Any]) -> Work | None:
        """Return the count of an operation on numbers, with the conversions of its operands."""
        kinds = tuple(map(self._type, operands))
        taken = tuple(self._calltypes[value].args)[: len(operands)]
        if (all(map(is_whole, kinds)) and is_comparison(function)) or not all(map(is_number, taken)):
            taken = kinds  # Numba compares some whole numbers as floats; min and max take any types
        count = operation(function, taken, tuple(map(self._constant, operands)))
        if count is None:
            return None
        return Work(total(count, *(converted(given, to) for given, to in zip(kinds, taken, strict=False))))

    def _constant(self, variable: Any) -> Any:
        """Return the value of a variable that is a constant; None if it is not."""
        kind = self._type(variable)
        if isinstance(kind, types.Literal):
            return kind.literal_value
        made = self._made.get(variable.name, [])
        if len(made) != 1:
            return None
        if isinstance(made[0], ir.Const | ir.Global | ir.FreeVar):
            return made[0].value
        if isinstance(made[0], ir.Var):
            return self._constant(made[0])
        if isinstance(made[0], ir.Expr) and made[0].op == "binop":
            return self._of_constants(made[0])
        if isinstance(made[0], ir.Expr) and made[0].op == "getattr" and made[0].attr == "itemsize":
            of = self._type(made[0].value)
            return of.dtype.bitwidth // 8 if isinstance(of, types.Array) and is_number(of.dtype) else None
        call = isinstance(made[0], ir.Expr) and made[0].op == "call" and len(made[0].args) == 1
        if call and isinstance(self._type(made[0].func), types.NumberClass):  # np.uint64(2)
            return self._constant(made[0].args[0])
        return None

    def _of_constants(self, value: Any) -> Any:
        """Return the value of an operation on two constant whole numbers; None if it is not one."""
        sides = self._constant(value.lhs), self._constant(value.rhs)
        if (
            all(isinstance(side, int) for side in sides)
            and value.fn in _WHOLE
            and (sides[1] or value.fn not in _DIVIDED)
        ):
            return value.fn(*sides)
        return None

    def _get(self, target: Any, value: Any) -> Work | None:
        kind = self._type(value.value)
        if isinstance(kind, types.BaseTuple):
            return Work() if value.op == "static_getitem" else Work({"load": 1})
        place = value.index if value.op != "static_getitem" else value.index_var
        index = self._type(place) if place is not None else types.literal(value.index)
        return arrays.part(kind, index, value.value, place, target)

    def _set(self, statement: Any) -> Work:
        place = statement.index if isinstance(statement, ir.SetItem) else statement.index_var
        kind, given = self._type(statement.target), self._type(statement.value)
        found = arrays.assigned(kind, self._type(place), given, statement.target, place)
        if found is None:
            raise self._unknown(statement, f"an assignment to an element of {kind}")
        conversion = converted(given, kind.dtype)
        return Work(total(found.fixed, conversion), found.each, found.number, found.given)

    def _call(self, target: Any, value: Any) -> Work | None:
        called, result = self._type(value.func), self._type(target)
        given = [*value.args, *(one for _, one in value.kws)]
        if isinstance(called, types.NumberClass):
            return Work(total(*(converted(self._type(one), result) for one in given[:1])))
        if isinstance(called, types.NamedTupleClass | types.ExceptionClass):
            return Work()
        if isinstance(called, types.BoundFunction):
            return self._method(target, value, called, given)
        function = getattr(called, "typing_key", None)
        if function is None or not callable(function):
            function = called_object(self._func_ir, value.func)
        return self._function(target, value, function, given, result)

    def _method(self, target: Any, value: Any, called: Any, given: list[Any]) -> Work | None:
        name = _method_name(called)
        made = self._made.get(value.func.name, [])
        if len(made) != 1 or not isinstance(called.this, types.Array):
            scalar = is_number(called.this) and name in ("view", "item")
            return Work() if scalar else None
        given = [made[0].value, *given]
        return arrays.call(name, tuple(given), tuple(map(self._type, given)), target, self._type(target))

    def _function(self, target: Any, value: Any, function: Any, given: list[Any], result: Any) -> Work | None:
        kinds = tuple(map(self._type, given))
        if function in (len, range, slice, enumerate, zip, reversed, tuple, isinstance, id):
            return Work()
        if function in _PRIMITIVES:
            return Work(_PRIMITIVES[function])
        if function is bool and isinstance(kinds[0], types.Array):
            return None
        if function in (int, float, complex) and kinds and is_number(kinds[0]):
            return Work(converted(kinds[0], result))
        if kinds and all(map(is_number, kinds)) and is_number(result):
            return self._on_numbers(value, function, given)
        if any(isinstance(kind, types.Array) for kind in kinds) and isinstance(result, types.Array):
            work = arrays.elementwise(function, kinds, result, target, True)
            if work is not None:
                return work
        module = getattr(function, "__module__", "") or ""
        if module.partition(".")[0] in ("numpy", "builtins"):
            return arrays.call(function.__name__, tuple(given), kinds, target, result)
        return None

    def _iteration(self, kind: Any, loc: Any) -> tuple[Count, Count]:
        """Return the counts of asking an iterator for an element, and of getting one."""
        compared: Count = {"int": 1}
        if isinstance(kind, types.ArrayIterator):
            return compared, total({"int": 1}, arrays.read(kind.array_type))
        if isinstance(kind, types.EnumerateType):
            asked, each = self._iteration(kind.source_type, loc)
            return asked, total(each, {"int": 1})
        if isinstance(kind, types.ZipType):
            parts = [self._iteration(one, loc) for one in kind.source_types]
            return total(*(asked for asked, _ in parts)), total(*(each for _, each in parts))
        if isinstance(kind, types.UniTupleIter):
            return compared, {"int": 1, "load": 1}
        if type(kind).__name__ == "RangeIteratorType":
            return compared, {"int": 1}
        raise self._refused(loc, f"a loop over {kind}")

    def _described(self, value: Any) -> str:
        """Return words for an expression whose count is not known."""
        if value.op == "getattr":
            return f"the address of an array, {value.attr!r}, which differs from run to run"
        if value.op != "call":
            kinds = " and ".join(str(self._type(one)) for one in value.list_vars()) or "nothing"
            function = value.fn.__name__ if value.op.endswith("binop") or value.op == "unary" else value.op
            return f"the operation {function!r} on {kinds}"
        kind = self._type(value.func)
        if isinstance(kind, types.BoundFunction):
            return f"a call of the method {_method_name(kind)!r} of {kind.this}"
        function = getattr(kind, "typing_key", None) or called_object(self._func_ir, value.func)
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or str(function or kind)
        return f"a call of {name}({', '.join(str(self._type(one)) for one in value.args)})"

    def _unknown(self, statement: Any, described: str) -> Unsupported:
        return self._refused(statement.loc, described)

    def _refused(self, loc: Any, described: str) -> Unsupported:
        name = self._func_ir.func_id.func_name
        return Unsupported(
            f"the operations of the loop {name!r} cannot be counted: {loc.filename}, line {loc.line}, has {described}, "
            "whose price is not known. Write it as a loop over numbers, or declare the loop's cost: "
            "@smp.local(cost=...)"
        )


def _method_name(called: Any) -> str:
    """Return the name of a method, of which Numba has either "array.sum" or (Array, "sum")."""
    key = called.typing_key
    return str(key[-1] if isinstance(key, tuple) else key).rpartition(".")[2]
