"""The `figures`, drawn with Matplotlib to be shown or saved."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from smp._output.drawing import Picture, draw
from smp._output.figure import Figure

from . import figures

P = ParamSpec("P")


def _drawn(describe: Callable[P, Figure]) -> Callable[P, Picture]:
    @functools.wraps(describe)
    def make(*given: P.args, **more: P.kwargs) -> Picture:
        return draw(describe(*given, **more))

    return make


half_normal, effects = _drawn(figures.half_normal), _drawn(figures.effects)
ladders, response = _drawn(figures.ladders), _drawn(figures.response)
