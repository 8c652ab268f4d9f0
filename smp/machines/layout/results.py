"""Results of measurements that were published of a machine, and the declared times of its loops: terms by name.

Both are sums of terms, such as 404.2 + 14.4 hops. A result is no setting: it stands in the file for comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .values import Frozen

UNITS = ("cycles", "ns", "us", "ms", "s", "MB/s", "GB/s", "packets", "words", "streams", "bytes", "times")
"""Units that a published result may have."""
RANGE = ("low", "high", "deviation")
"""Terms of a result that was published as a range, or with its standard deviation."""
TERMS = "constant, or per_ and the thing that is counted, as in per_word"
_TERM = re.compile(r"constant|per_[a-z][a-z0-9_]{0,60}")


@dataclass(frozen=True, kw_only=True)
class Result:
    """A published result.

    Attributes
    ----------
    terms : mapping of str to float
        The term ``constant`` and terms such as ``per_hop``, which add up; or ``low`` and ``high``.
    unit : str
        Unit of the terms.
    sets : tuple of str
        Settings of the machine, or tables of them, that were chosen so that it has this result. If there are none, the
        result was not used, and agreement with it is evidence.
    what : str
        What was measured; may be empty.
    """

    terms: Frozen[float]
    unit: str = "cycles"
    sets: tuple[str, ...] = ()
    what: str = ""


def is_term(name: str, also: Iterable[str] = ()) -> bool:
    """Return True if a name is that of a term.

    Examples
    --------
    >>> is_term("per_word"), is_term("word"), is_term("low", RANGE)
    (True, False, True)
    """
    return bool(_TERM.fullmatch(name)) or name in also
