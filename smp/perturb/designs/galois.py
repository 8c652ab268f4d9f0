"""Arithmetic in finite fields of a few elements, as tables.

An element of the field of p^m elements is a polynomial of degree less than m over the integers modulo p.  Its number is
the polynomial's value at p: in the field of 9 elements, 5 = 1 * 3 + 2 stands for x + 2.
"""

from __future__ import annotations

import itertools

import numpy as np

from smp.models._types import IntArray


def prime_power(q: int) -> tuple[int, int] | None:
    """Return p and m if q is the power p^m of a prime p, else None.

    Examples
    --------
    >>> prime_power(9), prime_power(12)
    ((3, 2), None)
    """
    p = next((d for d in range(2, q + 1) if q % d == 0), 0)
    m, power = 0, 1
    while p and power < q:
        m, power = m + 1, power * p
    return (p, m) if p and power == q else None


def field(q: int) -> tuple[IntArray, IntArray]:
    """Return the tables of addition and multiplication of the field of q elements.

    Parameters
    ----------
    q : int
        A prime, or the square or cube of one.

    Returns
    -------
    addition, multiplication : ndarray (q, q) int64

    Raises
    ------
    ValueError
        If no such field exists, or q is a higher power of a prime.

    Examples
    --------
    >>> field(4)[1][2].tolist()  # x times 0, 1, x, x + 1, modulo x^2 + x + 1
    [0, 2, 3, 1]
    """
    found = prime_power(q)
    if found is None or found[1] > 3:
        raise ValueError(f"no field of {q} elements is known: q must be a prime, or the square or cube of a prime")
    p, m = found
    powers = p ** np.arange(m)
    digits = np.arange(q)[:, None] // powers % p  # coefficients of x^0, x^1, ...
    addition = (digits[:, None] + digits) % p @ powers
    reduced = _remainders(p, m)
    products = np.zeros((q, q, m), np.int64)
    for i, j in itertools.product(range(m), repeat=2):
        products += digits[:, i, None, None] * digits[None, :, j, None] * reduced[i + j]
    return addition, products % p @ powers


def _remainders(p: int, m: int) -> IntArray:
    """Return the coefficients of x^0, x^1, ..., x^(2m-2), each modulo an irreducible polynomial of degree m.

    A polynomial of degree two or three is irreducible if it has no root.
    """
    x = np.arange(p)
    for low in itertools.product(range(p), repeat=m):
        values = x**m + sum(c * x**k for k, c in enumerate(low))
        if m == 1 or (values % p).all():
            break
    rows = np.eye(m, dtype=np.int64).tolist()
    for _ in range(m - 1):
        *rest, last = rows[-1]
        rows.append([(c - last * b) % p for c, b in zip([0, *rest], low, strict=True)])
    return np.array(rows, np.int64)
