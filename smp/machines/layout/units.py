"""Units in which a file may give a number, and the base unit of each in which the number is kept.

base unit    units
cycles       cycles, ns, us, ms, s          cycles of the machine's clock
bytes        bytes, KiB, MiB, GiB
bytes/s      bytes/s, MB/s, GB/s, Mbit/s    1 MB is a million bytes
Hz           Hz, kHz, MHz, GHz
"""

from __future__ import annotations

BYTES = {"bytes": 1.0, "KiB": 1024.0, "MiB": 1048576.0, "GiB": 1073741824.0}
RATES = {"bytes/s": 1.0, "MB/s": 1e6, "GB/s": 1e9, "Mbit/s": 125e3}
HERTZ = {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
PARTS_OF_A_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
FACTORS = {"bytes": BYTES, "bytes/s": RATES, "Hz": HERTZ}
SHOWN = {"bytes/s": "MB/s", "Hz": "MHz"}
"""Units in which tables show numbers, if not in the base unit."""


def units_of(base: str) -> tuple[str, ...]:
    """Return the units that a number with a base unit may have.

    Examples
    --------
    >>> units_of("cycles")
    ('cycles', 'ns', 'us', 'ms', 's')
    """
    if base == "cycles":
        return (base, *PARTS_OF_A_SECOND)
    return tuple(FACTORS.get(base, ()))


def in_base(value: float, unit: str, base: str, hz: float) -> float:
    """Return a number in its base unit.

    Parameters
    ----------
    value : float
    unit : str
        One of the units that `units_of` returns.
    base : str
    hz : float
        Cycles of the machine's clock in a second.

    Examples
    --------
    >>> in_base(30, "us", "cycles", 33e6), in_base(20, "MB/s", "bytes/s", 33e6)
    (990.0, 20000000.0)
    """
    if unit == base:
        return value
    if base == "cycles":
        return value * hz / PARTS_OF_A_SECOND[unit]
    return value * FACTORS[base][unit]


def as_shown(value: float, base: str) -> float:
    """Return a number in the unit in which tables show it.

    Examples
    --------
    >>> as_shown(33e6, "Hz"), as_shown(62, "cycles")
    (33.0, 62)
    """
    return value / FACTORS[base][SHOWN[base]] if base in SHOWN else value
