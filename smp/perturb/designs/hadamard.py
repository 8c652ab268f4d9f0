"""Hadamard matrices: square matrices of -1 and +1 with orthogonal columns. All two-level designs are columns of one.

    walsh(2)     column  0   1   2   3        0 is the mean; column v is the product of the basic columns 2^j
    trial 0              +   -   -   +        whose bits are set in v: column 3 = 01 xor 10 is 1 times 2
          1              +   +   -   -        (Yates order: basic column 1 changes fastest)
          2              +   -   +   -
          3              +   +   +   +

A matrix of Plackett and Burman follows no such rule, except for 4, 8, 16, 32 and 64 trials.
"""

from __future__ import annotations

import numpy as np

from smp.models._types import Signs

LARGEST = 4096
"""Largest number of trials. More would be too many runs of a program, and need a matrix of more than 16 MiB."""

_ROWS = {  # first rows, for trials - 1 that is not a prime, or for which another row is published
    16: "++++-+-++--+---",
    32: "----+-+-+++-++---+++++--++-+--+",
    36: "-+-+++---+++++-+++--+----+-+-++--+-",
}
_BLOCKS = (  # of 28 trials: three blocks of nine by nine, X Y Z, then Z X Y, then Y Z X
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
_SYMMETRIC = {  # first halves of the first rows of four symmetric circulant blocks, found by a search
    52: "+-++--+ +++-+-- +-+--++ +-----+",
    76: "+--+---+++ +--+---+++ +--+-+---+ +++-+-+++-",
    92: "+-+-+--++-++ +++-++---+-+ +++--+----+- ++-++++---++",
    100: "+----++-+++-+ ++-++--+-+--+ +++----+----+ ++-----+-+-+-",
    116: "+--++----+-++++ +--+---+-+--+++ ++--++-+-++++-- +-+++-+++--+-++",
    124: "+--+---+--+++-++ +++-----+-+--++- +-+---++++-++++- +-+-++-++-++++--",
}


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
    """Return the matrix with twice the trials: column ``v + n`` is column ``v`` times the sign of the half."""
    return np.block([[matrix, -matrix], [matrix, matrix]])


def plackett_burman(trials: int) -> Signs | None:
    """Return the matrix of a two-level design with this number of trials; None if none is known.

    There is one for each multiple of four up to 128. Its last trial has a minus in all columns except the first, the
    mean. Up to 36 trials, the columns from 1 on are the published design.

    Source: R. L. Plackett and J. P. Burman, The design of optimum multifactorial experiments, Biometrika 33 (1946);
    for 52, 76, 92, 100, 116 and 124 trials the form of J. Williamson, Duke Mathematical Journal 11 (1944).
    """
    if trials < 4 or trials % 4:
        return None
    if trials == 28:
        x, y, z = (np.array([_signs(row) for row in block]) for block in _BLOCKS)
        return _bordered(np.block([[x, y, z], [z, x, y], [y, z, x]]))
    if trials in _SYMMETRIC:
        return _williamson(*_SYMMETRIC[trials].split())
    if trials in _ROWS:
        return _bordered(_circulant(_signs(_ROWS[trials])))
    if _prime(trials - 1):
        return _bordered(_circulant(_squares(trials - 1)))
    half = plackett_burman(trials // 2)
    return None if half is None else _signed(doubled(half))


def _bordered(design: Signs) -> Signs:
    """Add the column of the mean before a published design, and the trial without delays after it."""
    matrix = np.pad(design, ((0, 1), (1, 0)), constant_values=-1)
    matrix[:, 0] = 1
    return matrix


def _williamson(*halves: str) -> Signs:
    """Combine four symmetric blocks that commute and whose squares add up to a multiple of the unit matrix."""
    a, b, c, d = (_circulant(_signs(half + half[:0:-1])) for half in halves)
    return _signed(np.block([[a, b, c, d], [-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]]))


def _signed(matrix: Signs) -> Signs:
    """Reverse the signs of rows and columns so that the first column is the mean and the last trial has no delays."""
    matrix = matrix * matrix[:, :1]
    matrix[:, 1:] *= -matrix[-1, 1:]
    return matrix


def _signs(text: str) -> Signs:
    return np.array([1 if sign == "+" else -1 for sign in text], np.int8)


def _circulant(row: Signs) -> Signs:
    """Return the matrix whose rows are the given row, shifted by one more from row to row."""
    return np.array([np.roll(row, shift) for shift in range(len(row))])


def _squares(prime: int) -> Signs:
    """Return a row with +1 at the squares modulo a prime. For a prime 4m + 3 it is the first row of a design."""
    row = np.full(prime, -1, np.int8)
    row[np.arange(prime) ** 2 % prime] = 1
    return row


def _prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
