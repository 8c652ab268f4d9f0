"""The module and the bank that hold a word.

Addresses are spread over the modules at random, or word by word in turn.

Source: the study of the Tera MTA, section 5.
"""

from __future__ import annotations

import numpy as np

from ...loops.compiler import merged
from . import layout
from .settings import Settings
from .state import Arrays, operation_at

_MIX_1, _MIX_2, _HALF = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)


@merged
def hashed(address: int) -> np.uint64:
    """Return 64 bits that look random, from an address."""
    mixed = np.uint64(address)
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX_1
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX_2
    return mixed ^ (mixed >> _HALF)


@merged
def set_place(m: Settings, s: Arrays, operation: int) -> None:
    """Note the module and the bank of the word that an operation uses."""
    row = operation_at(s, operation)
    address = row[layout.ADDRESS]
    if m.hashed != 0:
        bits = hashed(address)
        module = np.int64(((bits >> _WORD) * np.uint64(m.modules)) >> _WORD)
        bank = np.int64(((bits & _LOW) * np.uint64(m.banks)) >> _WORD)
    else:
        module, bank = np.int64(address % m.modules), np.int64(address // m.modules % m.banks)
    row[layout.MODULE], row[layout.BANK] = module, module * m.banks + bank
