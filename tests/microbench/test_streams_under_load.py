"""No wrong time is valid under load, when two busy processes for each CPU take turns with the measured streams."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from smp._computer.limits import usable_cpus
from smp._computer.system import affinity, idle_ns
from smp.microbench.method.plan import Plan
from smp.microbench.sections.chain import probe as chain
from smp.microbench.sections.instruction import probe as instruction
from smp.microbench.sections.polling import probe as polling
from smp.microbench.sections.threads import probe as threads
from smp.microbench.sections.waking import probe as waking

PLAN = Plan("quick", (1,), 7, 64)


BUSY = """
import os, sys
process = os.fork()
if process:
    print(process)
    os._exit(0)
os.close(1)
os.close(2)
while os.getppid():
    pass
"""


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Run two processes per CPU that only compute. They are not children of this process, so they count as others."""
    command = [sys.executable, "-uc", BUSY]
    found = [subprocess.run(command, capture_output=True, text=True) for _ in range(2 * len(usable_cpus()))]
    try:
        yield
    finally:
        for each in found:
            os.kill(int(each.stdout), signal.SIGKILL)


def rows_under_load(probe: Any) -> list[dict[str, Any]]:
    probe.measure(PLAN, lambda *_: None)  # compile while the computer is not busy
    with busy():
        section = probe.measure(PLAN, lambda *_: None).data.to_json()
    rows = [*section["rows"], *section.get("parts", [])]
    assert rows
    return rows


def test_a_valid_addition_takes_one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(instruction.EFFORTS, "quick", instruction.Effort(0.01, (1, 2)))
    for row in rows_under_load(instruction):
        if row["what"] == instruction.ADD and row["valid"]:  # one clock defines the clock rate
            assert row["total_clocks"] == pytest.approx(1.0, rel=0.1)
            assert 0.9 <= row["clocks_mean"] <= 1.1 * row["streams"]


@pytest.mark.skipif(idle_ns(affinity()) is None, reason="the system does not count idle time")
@pytest.mark.parametrize(
    "probe", [waking, pytest.param(chain, marks=pytest.mark.slow), pytest.param(threads, marks=pytest.mark.slow)]
)
def test_times_of_waking_are_not_valid_on_cpus_that_others_use(probe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if probe is not threads:
        effort = waking.Effort(0.3, (0,), (1, 4)) if probe is waking else chain.Effort(0.3, ("mass",), (1, 4))
        monkeypatch.setitem(probe.EFFORTS, "quick", effort)
    for row in rows_under_load(probe):
        assert not row["valid"]
        assert any("other processes took" in why for why in row["why"])


@pytest.mark.slow
def test_a_valid_triad_takes_turns_only_with_its_own_pollers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(polling.EFFORTS, "quick", polling.Effort(0.1, (polling.FOREVER,), (1,)))
    monkeypatch.setattr(polling, "ARRAY_BYTES", 1 << 20)
    for row in rows_under_load(polling):
        if row["place"] == polling.BESIDE and row["valid"]:
            assert row["slowdown"] <= 1.2 * (1 + row["pollers"])
