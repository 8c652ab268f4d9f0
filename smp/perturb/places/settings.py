"""The treatments that are set in this process: those of its environment, and one layer for each block of `treated`.

The processes of a script can be treated from outside: the environment variable ``SMP_TREATMENTS``,
``swap=10us;push=work:10``, is read when a process imports this module, as `smp.perturb` and the first compiled loop
do.
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
"""Of the blocks of `treated` that are open, the first to be entered first: they need not end in the opposite order."""
_outside: Layer = {}
"""Of the environment."""
_below: dict[str, Order] = {}
"""What was set when the first of them was entered."""


def begin(layer: Layer, carrier: Carrier) -> None:
    """Set a layer above those that are set, which ``carrier`` takes to machines; `Places.setting` is held."""
    global _below
    if not _layers:
        _below = PLACES.orders()
    _layers.append(layer)
    PLACES.carrier = carrier
    _install()


def end(layer: Layer) -> None:
    """Take a layer away; `Places.setting` is held."""
    _layers[:] = [one for one in _layers if one is not layer]
    if not _layers:
        PLACES.carrier = None
    _install()


def _install() -> None:
    """Set what is below the layers, and they."""
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
    """Set what the environment says."""
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
