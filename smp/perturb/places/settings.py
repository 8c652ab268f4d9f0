"""Treatments that are set in this process: those of its environment, and one layer for each block of `treated`.

The processes of a script can be treated from outside, by the environment variable ``SMP_TREATMENTS``, for instance
``swap=10us;push=work:10``. A process reads the variable when it imports this module: together with `smp.perturb`, or
before its first compiled loop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.places import PLACES, Carrier, Order

from .treatments import Treatment, checked, treatment

VARIABLE = "SMP_TREATMENTS"

Layer = dict[str, Treatment | None]
_layers: list[Layer] = []
"""Layers of the open blocks of `treated`, in the order of entry. The blocks need not end in the opposite order."""
_outside: Layer = {}
"""Layer of the treatments set by the environment."""
_below: dict[str, Order] = {}
"""Orders that were set when the first open block was entered."""


def begin(layer: Layer, carrier: Carrier) -> None:
    """Add a layer above the others; ``carrier`` takes the treatments to machines. `Places.setting` must be held."""
    global _below
    if not _layers:
        _below = PLACES.orders()
    _layers.append(layer)
    PLACES.carrier = carrier
    _install()


def end(layer: Layer) -> None:
    """Remove a layer; `Places.setting` must be held."""
    _layers[:] = [one for one in _layers if one is not layer]
    if not _layers:
        PLACES.carrier = None
    _install()


def _install() -> None:
    """Set the orders from before the first block and, above them, the treatments of the environment and the layers."""
    orders = {name: order for name, order in _below.items() if all(name not in layer for layer in _layers)}
    orders.update((name, one.order(None)) for name, one in current().items())
    PLACES.install(orders, interpreted=here.interpreter is not None)


def current() -> dict[str, Treatment]:
    """Return the treatments of this process, by factor."""
    merged = dict(_outside)
    for layer in _layers:
        merged |= layer
    return {name: one for name, one in merged.items() if one is not None}


def told(treatments: Mapping[str, Treatment]) -> str:
    """Return treatments as text: ``swap=10000ns;push=work:10``."""
    return ";".join(f"{name}={given}" for name, given in treatments.items())


def carry_over() -> None:
    """Set the treatments that the environment variable gives."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return
    pairs = [part.partition("=") for part in text.split(";")]
    try:
        _outside.update(checked({name: treatment(given) for name, _, given in pairs}))
    except ValueError as error:
        raise ValueError(f"the environment variable {VARIABLE}={text}: {error}") from None
    _install()


carry_over()
