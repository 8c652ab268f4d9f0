"""A mapping that cannot be changed, so that the description of a machine can be compared, hashed and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class Frozen(Mapping[str, Value]):
    """A mapping that cannot be changed. Two are equal if they have the same items, in any order.

    Parameters
    ----------
    items : mapping of str, optional

    Examples
    --------
    >>> Frozen({"per_point": 93})
    {'per_point': 93}
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Value] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._items == other._items

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[type[Frozen[Value]], tuple[dict[str, Value]]]:
        return Frozen, (self._items,)
