"""The study of LoPC on emulated machines: the model's errors where it holds, and where it does not.

Source: M. Frank, LoPC: Modeling Contention in Parallel Algorithms, MIT, 1997.
"""

from __future__ import annotations

from ..rows import Part
from . import all_to_all, client_server, matrix_vector, whole_machines

SUMMARY = "LoPC against the emulated machine"


def results(quick: bool) -> list[Part]:
    """Return the rows and figures of all experiments."""
    return [
        all_to_all.part(quick),
        all_to_all.part_apart(quick),
        all_to_all.part_of_two_hops(quick),
        client_server.part(quick),
        matrix_vector.part(quick),
        whole_machines.part("alewife", quick),
        whole_machines.part("cm5", quick),
    ]
