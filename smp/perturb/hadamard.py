"""Hadamard matrices: square, of -1 and +1, every two columns orthogonal. All designs of two levels are columns of one.

    walsh(2)     column  0   1   2   3        0 is the mean; column v is the product of the basic columns 2^j
    trial 0              +   -   -   +        whose bits are set in v: column 3 = 01 xor 10 is 1 times 2
          1              +   +   -   -        (Yates order: basic column 1 changes fastest)
          2              +   -   +   -
          3              +   +   +   +

A matrix of Plackett and Burman has no such rule: the product of two of its columns is none of them.
"""

from __future__ import annotations

import numpy as np

from ._types import Signs

LARGEST = 4096
"""Trials: beyond it nobody runs a program, and the matrix would take 16 MiB and more."""

_ROWS = {  # first rows where no prime is at hand (Plackett and Burman 1946)
    16: "++++-+-++--+---",
    36: "-+-+++---+++++-+++--+----+-+-++--+-",
}
_BLOCKS = (  # of 28 trials: three blocks of nine by nine, shifted round
    (
        "+-++++---",
        "++-+++---",
        "-+++++---",
        "---+-++++",
        "---++-+++",
        "----+++++",
        "+++---+-+",
        "+++---++-",
        "+++----++",
    ),
    (
        "-+---+--+",
        "--++--+--",
        "+---+--+-",
        "--+-+---+",
        "+----++--",
        "-+-+---+-",
        "--+--+-+-",
        "+--+----+",
        "-+--+-+--",
    ),
    (
        "++-+-++-+",
        "-++++-++-",
        "+-+-++-++",
        "+-+++-+-+",
        "++--++++-",
        "-+++-+-++",
        "+-++-+++-",
        "++-++--++",
        "-++-+++-+",
    ),
)


def walsh(bits: int) -> Signs:
    """Return the matrix of ``2**bits`` trials whose columns multiply as their numbers xor.

    Examples
    --------
    >>> walsh(2)
    array([[ 1, -1, -1,  1],
           [ 1,  1, -1, -1],
           [ 1, -1,  1, -1],
           [ 1,  1,  1,  1]], dtype=int8)
    """
    matrix = np.ones((1, 1), np.int8)
    for _ in range(bits):
        matrix = doubled(matrix)
    return matrix


def doubled(matrix: Signs) -> Signs:
    """Return the matrix of twice the trials: column ``v + n`` is column ``v`` times the sign of the half."""
    return np.block([[matrix, -matrix], [matrix, matrix]])


def plackett_burman(trials: int) -> Signs | None:
    """Return the matrix of a published design with so many trials, or of one doubled; None where there is none.

    The columns 1 to ``trials - 1`` are the published design, its row of minus signs last.

    Source: R. L. Plackett and J. P. Burman, The design of optimum multifactorial experiments, Biometrika 33 (1946).
    """
    size = trials - 1
    matrix = np.ones((trials, trials), np.int8)
    if trials == 28:
        thirds = [[[sign == "+" for sign in row] for row in block] for block in _BLOCKS]
        plus = np.block([[np.array(thirds[(i - j) % 3]) for i in range(3)] for j in range(3)])
    elif trials % 4 == 0 and (trials in _ROWS or _prime(size)):
        row = np.array([sign == "+" for sign in _ROWS[trials]]) if trials in _ROWS else _squares(size)
        plus = np.array([np.roll(row, shift) for shift in range(size)])
    elif trials % 8 == 0 and (half := plackett_burman(trials // 2)) is not None:
        return doubled(half)
    else:
        return None
    matrix[:size, 1:] = np.where(plus, 1, -1)
    matrix[size, 1:] = -1
    return matrix


def _squares(prime: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which remainders are squares: for a prime of the form 4m + 3 the first row of the published design."""
    found = np.zeros(prime, np.bool_)
    found[np.arange(prime) ** 2 % prime] = True
    return found


def _prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
