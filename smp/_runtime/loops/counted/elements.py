"""Numbers of elements that an operation on whole arrays works on; they are compiled into the loops that count.

The operation works on each of these elements as the loop would that it stands for.
"""

from __future__ import annotations

from typing import Any


def of_array(a: Any) -> int:
    """Return the number of elements of an array."""
    return int(a.size)


def of_part(a: Any, index: Any) -> int:
    """Return the number of elements of a part of an array."""
    return int(a[index].size)


def of_shape(*shape: int) -> int:
    """Return the number of elements of an array of a shape."""
    number = 1
    for length in shape:
        number *= length
    return number


def of_halvings(a: Any) -> int:
    """Return the number of halvings in which a value is found in an array."""
    steps, left = 0, len(a)
    while left > 0:
        steps += 1
        left >>= 1
    return steps


def of_all_halvings(a: Any, values: Any) -> int:
    """Return the number of halvings in which all of several values are found in an array."""
    steps, left = 0, len(a)
    while left > 0:
        steps += values.size
        left >>= 1
    return steps


def of_product(a: Any, b: Any) -> int:
    """Return the number of products in the matrix product of two arrays, the second of which has two dimensions."""
    return int(a.size * b.shape[1])
