"""The head of a packet of a handler: to which handler it goes, and what its words are.

    head     │ handler 14 │ types 7 │ pickled 1 │ more 1 │ continues 1 │ name 13 │ 0 │     38 bits, from the lowest on
    words    the numbers, int64 or float64 as ``types`` says; or the length of a pickle in bytes, and the pickle

Of a message with several packets, all but the last have ``more`` set, and all but the first ``continues``.  ``name`` is
a part of a hash of the handler's name, by which the receiver finds out whether it knows the handler by the same number.
The last bit is 1 in the packets of compiled loops (``loop_packets``).
"""

from __future__ import annotations

NUMBERS = 7
"""Numbers that fit into one packet."""
HANDLERS = 1 << 14
TYPES_AT, NAME_AT = 14, 24
TYPES = (1 << NUMBERS) - 1 << TYPES_AT
PICKLED, MORE, CONTINUES = 1 << 21, 1 << 22, 1 << 23
PARTIAL = MORE | CONTINUES
NAMES = 1 << 13
"""Number of values of ``name``."""
