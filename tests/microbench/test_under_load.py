"""While a program keeps each CPU busy, times are as on the quiet computer before, or they are not valid."""

import numpy as np
import pytest
from support.load import busy_cpus

import smp
from smp._computer.limits import usable_cpus
from smp.microbench.method.clocks import HostClock
from smp.microbench.method.rounds import measure_points
from smp.microbench.method.visit import Point
from smp.microbench.sections.bandwidth.stream import run_stream, stream_rows
from smp.microbench.sections.latency.walks import UNROLLED, random_walk

KIB, MIB = 1 << 10, 1 << 20


def measured() -> dict[str, tuple[float, bool]]:
    """Return the time of a load from each array and of an element in STREAM, each with True if it is valid."""
    rng = np.random.default_rng(1)
    walks = [(nbytes, random_walk(nbytes, 64, True, rng)) for nbytes in (16 * KIB, 256 * KIB, 64 * MIB)]
    points = [Point(f"{nbytes} bytes", walk, UNROLLED, quote="median") for nbytes, walk in walks]
    results = measure_points(points, 0.3, rng, HostClock())
    with smp.host(1) as machine:
        elements = 2 * MIB
        rows = [row for ran in run_stream(machine, elements, 6) for row in stream_rows(ran, elements)]
    found = {str(result.key): (result.median, result.valid) for result in results}
    for k, row in enumerate(rows):
        found[f"{k} {row.kernel}"] = (1 / row.GBps, bool(row.valid))
    return found


@pytest.mark.slow  # whatever else uses the memory of the host counts as well
def test_no_valid_figure_is_off_by_a_factor_of_two() -> None:
    quiet = measured()
    with busy_cpus(len(usable_cpus())):
        loaded = measured()
    assert quiet.keys() == loaded.keys()
    both = {name for name in quiet if quiet[name][1] and loaded[name][1]}
    assert {name: (quiet[name], loaded[name]) for name in both if not 0.5 < loaded[name][0] / quiet[name][0] < 2} == {}
    assert any(valid for _, valid in loaded.values()), "some short windows are undisturbed, whatever else runs"
