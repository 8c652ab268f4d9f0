"""Vector loop of `row_pair.relax_row_pair`, in LLVM's own vectors; imported together with Numba.

Explicit vectors of 64 bytes are used as such if the CPU has them, and split if it does not.  For a loop over elements,
the compiler would use vectors of at most half that length.  No operation is contracted or reordered.

AVX-512 stores the cells of the colour alone.  On CPUs of AMD with AVX2, such a store takes many times as long as that
of a whole vector, so there the cells of the other colour are stored as they are.  No other thread may change them at
that time, because they are neighbours of the cells that are relaxed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from smp._runtime.loops.compiler import overloads

from . import row_pair

_I32 = ir.IntType(32)


def _typed(typing: Any, grid: Any, row: Any, left: Any, count: Any, colour: Any, quarter: Any, keep: Any) -> Any:
    if not isinstance(grid, types.Array) or grid.ndim != 2 or grid.layout != "C":
        raise TypingError(f"a grid must be a C-contiguous array of two dimensions, not {grid}")
    if grid.dtype not in (types.float32, types.float64):
        raise TypingError(f"a grid must hold float32 or float64, not {grid.dtype}")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _relax(context, builder, grid, args)

    return grid.dtype(grid, *[types.intp] * 4, grid.dtype, grid.dtype), code


def stores_chosen_lanes(context: Any) -> bool:
    """Return True if the CPU that is compiled for stores chosen lanes of a vector as fast as all of them."""
    return "+avx512f" in context.codegen().magic_tuple()[2]


def _relax(context: Any, builder: Any, grid: Any, args: Any) -> Any:
    array = arrayobj.make_array(grid)(context, builder, args[0])
    row, left, count, colour, quarter, keep = args[1:]
    size = grid.dtype.bitwidth // 8
    lanes = row_pair.VECTOR // size
    element = context.get_data_type(grid.dtype)
    vector = ir.VectorType(element, lanes)
    bits = ir.VectorType(ir.IntType(8 * size), lanes)
    index = row.type
    masks = stores_chosen_lanes(context)

    def mask(numbers: list[int], kind: Any = _I32) -> Any:
        return ir.Constant(ir.VectorType(kind, len(numbers)), numbers)

    def splat(value: Any) -> Any:
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask([0] * lanes))

    def blend(even: Any, odd: Any) -> Any:
        return builder.shuffle_vector(even, odd, mask([k if k % 2 == 0 else lanes + k for k in range(lanes)]))

    def at(row: Any, column: Any) -> Any:
        return cgutils.get_item_pointer(context, builder, grid, array, [row, column])

    def load(pointer: Any, vectors: Any) -> Any:
        place = builder.gep(builder.bitcast(pointer, vector.as_pointer()), [vectors])
        return builder.load(place, align=size)

    def store(value: Any, others: Any, pointer: Any, vectors: Any, first: int) -> None:
        place = builder.gep(builder.bitcast(pointer, vector.as_pointer()), [vectors])
        if not masks:
            builder.store(blend(others, value) if first else blend(value, others), place, align=size)
            return
        chosen = mask([k % 2 == first for k in range(lanes)], ir.IntType(1))
        kind = f"v{lanes}f{8 * size}"
        function = ir.FunctionType(ir.VoidType(), [vector, place.type, _I32, chosen.type])
        masked = cgutils.get_or_insert_function(builder.module, function, f"llvm.masked.store.{kind}.p0")
        builder.call(masked, [value, place, _I32(size), chosen])

    # Row b is the row in which lane 0 has the colour.  If that is the lower of the two rows, a is the row below it.
    parity = builder.and_(builder.add(builder.add(row, left), colour), index(1))
    down = builder.sub(index(1), builder.mul(parity, index(2)))
    row_of_b = builder.add(row, parity)
    a, b, c, d = (at(builder.add(row_of_b, builder.mul(down, index(k))), left) for k in (-1, 0, 1, 2))

    # The odd lanes of b and the even lanes of c have the other colour, so the cell to the left of lane 0 is in b.
    west_of_first = builder.load(at(row_of_b, builder.sub(left, index(1))))
    first_b, first_c = load(b, index(0)), load(c, index(0))
    held_b = cgutils.alloca_once_value(builder, first_b)
    held_c = cgutils.alloca_once_value(builder, first_c)
    before = cgutils.alloca_once_value(builder, splat(west_of_first))
    other = cgutils.alloca_once_value(builder, blend(first_c, first_b))
    largest = cgutils.alloca_once_value(builder, ir.Constant(bits, None))
    no_sign = mask([2 ** (8 * size - 1) - 1] * lanes, bits.element)
    factor, rest = splat(quarter), splat(keep)

    with cgutils.for_range(builder, count) as loop:
        following = builder.add(loop.index, index(1))
        row_b, row_c, last, now = (builder.load(slot) for slot in (held_b, held_c, before, other))
        next_b, next_c = load(b, following), load(c, following)
        after = blend(next_c, next_b)
        old = blend(row_b, row_c)
        vertical = builder.fadd(blend(load(a, loop.index), load(d, loop.index)), now)
        west = builder.shuffle_vector(last, now, mask([lanes - 1 + k for k in range(lanes)]))
        east = builder.shuffle_vector(now, after, mask([1 + k for k in range(lanes)]))
        around = builder.fadd(vertical, builder.fadd(west, east))
        new = builder.fadd(builder.fmul(factor, around), builder.fmul(rest, old))
        store(new, row_b, b, loop.index, first=0)
        store(new, row_c, c, loop.index, first=1)
        # Non-negative numbers are ordered like their bits, and NaN comes after them.
        change = builder.and_(builder.bitcast(builder.fsub(new, old), bits), no_sign)
        most = builder.load(largest)
        builder.store(builder.select(builder.icmp_unsigned(">", change, most), change, most), largest)
        for value, slot in ((next_b, held_b), (next_c, held_c), (now, before), (after, other)):
            builder.store(value, slot)

    name = f"llvm.vector.reduce.umax.v{lanes}i{8 * size}"
    reduce = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bits.element, [bits]), name)
    return builder.bitcast(builder.call(reduce, [builder.load(largest)]), element)


_loop = intrinsic(_typed)

overloads(
    row_pair.relax_row_pair,
    lambda grid, row, left, count, colour, quarter, keep: (
        lambda grid, row, left, count, colour, quarter, keep: _loop(grid, row, left, count, colour, quarter, keep)
    ),
)
