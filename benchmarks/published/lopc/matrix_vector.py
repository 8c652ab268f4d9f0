"""The time of a matrix-vector multiplication by puts (chapter 3), for three orders of the puts."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import get_args

import numpy as np

import smp
from smp._computer.limits import usable_cpus
from smp._output.table import Column, Table, counted
from smp.kernels.messages.matrix_vector import Order, multiply_by_puts
from smp.kernels.messages.request_cycles import model_machine
from smp.models.lopc import matrix_vector

from ..rows import Part, Row
from .runs import HZ, STEPS

MULTIPLY_ADD, WIRE, HANDLER = 4.0, 50.0, 200.0
PROCESSORS, SIZES, VARIATIONS = (8, 16, 32), (128, 256, 512), (0, 1)
ORDERS: tuple[Order, ...] = get_args(Order)
ALLOWED = 0.05


@dataclass(frozen=True)
class Product:
    """A multiplication: P, N, C² and the order of the puts."""

    processors: int
    size: int
    variation: float
    order: Order


def part(quick: bool) -> Part:
    """Run the program on the machine that the model describes."""
    processors, sizes = (PROCESSORS[:1], SIZES[:1]) if quick else (PROCESSORS, SIZES)
    settings = list(itertools.product(processors, sizes, VARIATIONS))
    found = _all_cycles([Product(*setting, order) for setting in settings for order in ORDERS])
    by_order = [found[k::3] for k in range(3)]
    rows, lines = [], []
    for (p, n, c2), *cycles in zip(settings, *by_order, strict=True):
        model = matrix_vector(n, p, MULTIPLY_ADD, WIRE, HANDLER, variation=c2)
        name, allowed = f"N = {n}, P = {p}, C² = {c2:g}", 100 * ALLOWED
        logp, *lopc = model.logp / cycles[0] - 1, *(model.lopc / took - 1 for took in cycles)
        rows.append(Row(name, "error of n R by LoPC", f"{ALLOWED:.0%}", 100 * lopc[0], "%", "pred", -allowed, allowed))
        rows.append(Row(name, "error of n R by LogP", "", 100 * logp, "%", "shown"))
        lines.append([n, p, c2, cycles[0], logp, *lopc])
    data = {"runs": [dict(zip(("N", "P", "C2", "cycles", "logp", *ORDERS), line, strict=True)) for line in lines]}
    return Part("matrix-vector multiplication", rows, tables=[_table(lines)], data=data)


def cycles_of(product: Product) -> float:
    """Return the time of a multiplication in cycles: of the processor that needs most."""
    file = smp.machines.load(model_machine(WIRE, hz=HZ))
    matrix = np.zeros((product.size, product.size))
    with smp.emulated(product.processors, machine=file, limit=STEPS, fidelity="latency") as machine:
        run = machine.run(
            multiply_by_puts,
            *(matrix, np.zeros(product.size)),
            order=product.order,
            multiply_add=MULTIPLY_ADD,
            handler=HANDLER,
            variation=product.variation,
        )
    return float(max(seconds for _, seconds in run.results)) * HZ


def _all_cycles(products: Sequence[Product]) -> list[float]:
    with ProcessPoolExecutor(len(usable_cpus())) as pool:
        results = []
        for cycles in pool.map(cycles_of, products, chunksize=1):
            results.append(cycles)
            print(f"\rmatrix-vector: {len(results)} of {len(products)}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 60, end="\r", file=sys.stderr, flush=True)
    return results


def _table(lines: list[list[float]]) -> Table:
    percent = ("%", "fixed", 1, 100.0)
    columns = (
        counted("N"),
        counted("P"),
        counted("C²"),
        Column("emulated, random order", "cycles", "fixed", 0),
        Column("LogP", *percent),
        *(Column(f"LoPC, {order}", *percent) for order in ORDERS),
    )
    return Table("matrix-vector multiplication: errors of the models' times, by the order of the puts", columns, lines)
