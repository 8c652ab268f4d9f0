"""Matrix-vector multiplication by puts: y = A x, with y on all processors in the end.

    processor k    dot product y[i] ── put ──▶               ...waits...   next processor, ... next row
    processor j                        store y[i] ── reply ──▶

Row i of A belongs to processor i mod P, which puts the result to the P - 1 others, one at a time, and waits for each
reply.  `smp.models.lopc.matrix_vector` predicts the time.

Source: M. Frank, LoPC: Modeling Contention in Parallel Algorithms, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from smp import Message, Processor
from smp.models.lopc.draws import Purpose, times

Array = NDArray[np.float64]
Order = Literal["random", "shifted", "fixed"]
"""Order of the puts of a row: drawn for each row, from the next processor on, or from processor 0 on."""


def multiply_by_puts(
    proc: Processor,
    matrix: Array,
    x: Array,
    *,
    order: Order = "random",
    multiply_add: float = 0.0,
    handler: float = 0.0,
    variation: float = 0.0,
    seed: int = 0,
) -> tuple[Array, float]:
    """Multiply a matrix by a vector (SPMD program).

    Parameters
    ----------
    proc : Processor
    matrix : ndarray (m, n) float64
        A; the processor reads only its own rows.
    x : ndarray (n,) float64
        The vector, the same on all processors.
    order : {"random", "shifted", "fixed"}
        Order in which a row's result is put to the other processors: drawn for each row, from the next processor
        on, or from processor 0 on.
    multiply_add, handler : float
        Times of a multiply-add and of a handler in cycles, which an emulated machine is charged.
    variation : float
        C² of the handlers' times, which are drawn.
    seed : int
        Seed of the orders and of the handlers' times.

    Returns
    -------
    y : ndarray (m,) float64
    seconds : float
        Time of this processor by `Processor.clock`, from a barrier to its last reply.

    Raises
    ------
    ValueError
        Shapes that do not fit, or an unknown order.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.kernels.messages.matrix_vector import multiply_by_puts
    >>> with smp.emulated(2) as machine:
    ...     run = machine.run(multiply_by_puts, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    >>> run.results[0][0].tolist(), run.results[1][0].tolist()
    ([3.0, 7.0], [3.0, 7.0])
    """
    if matrix.ndim != 2 or x.shape != matrix.shape[1:]:
        raise ValueError(f"a matrix of shape {matrix.shape} cannot be multiplied by a vector of shape {x.shape}")
    if order not in get_args(Order):
        raise ValueError(f"order is {order!r}: choose one of {', '.join(get_args(Order))}")
    draw = times(seed, proc.rank, Purpose.HANDLERS, variation)
    puts = _Puts(proc, len(matrix), lambda: handler * draw())
    targets = _targets(proc, order, seed)
    proc.barrier()
    began = proc.clock()
    for row in range(proc.rank, len(matrix), proc.size):
        proc.work(cycles=multiply_add * len(x))
        value = float(matrix[row] @ x)
        puts.y[row] = value
        for to in targets():
            puts.put(to, row, value)
    seconds = proc.clock() - began
    proc.quiet()
    return puts.y, seconds


def _targets(proc: Processor, order: Order, seed: int) -> Callable[[], Sequence[int]]:
    """Return a function that returns the other processors in the order of the next row's puts."""
    others = [(proc.rank + k) % proc.size for k in range(1, proc.size)]
    if order == "shifted":
        return lambda: others
    if order == "fixed":
        return lambda: sorted(others)
    rng = np.random.default_rng([seed, proc.rank])
    return lambda: [int(to) for to in rng.permutation(others)]


class _Puts:
    """The puts of one processor, and the vector into which those of the others are stored.

    A request carries the time of the handler that it meets, and that of the handler of its reply.
    """

    def __init__(self, proc: Processor, length: int, time: Callable[[], float]) -> None:
        self.y = np.zeros(length)
        self._proc, self._time, self._waits = proc, time, False
        self._done = proc.handler(self._replied)
        self._store = proc.handler(self._stored, replies=True)

    def put(self, to: int, row: int, value: float) -> None:
        """Store a value on another processor; return when its reply has come."""
        self._waits = True
        self._proc.request(to, self._store, row, value, self._time(), self._time())
        self._proc.wait_until(lambda: not self._waits)

    def _stored(self, message: Message, row: int, value: float, took: float, later: float) -> None:
        self._proc.work(cycles=took)
        self.y[row] = value
        message.reply(self._done, later)

    def _replied(self, message: Message, took: float) -> None:
        self._proc.work(cycles=took)
        self._waits = False
