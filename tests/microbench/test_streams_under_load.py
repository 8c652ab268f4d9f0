"""Under load nothing is valid that would be off: two busy processes for each CPU take turns with what is measured."""

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
    """Two processes for each CPU that do nothing but compute, and are no children of this one: others' processes."""
    command = [sys.executable, "-uc", BUSY]
    found = [subprocess.run(command, capture_output=True, text=True) for _ in range(2 * len(usable_cpus()))]
    try:
        yield
    finally:
        for each in found:
            os.kill(int(each.stdout), signal.SIGKILL)


def rows_under_load(probe: Any) -> list[dict[str, Any]]:
    probe.measure(PLAN, lambda *_: None)  # compiles, on a computer that is not busy
    with busy():
        section = probe.measure(PLAN, lambda *_: None).data.to_json()
    rows = [*section["rows"], *section.get("parts", [])]
    assert rows
    return rows


def test_an_instruction_that_is_valid_takes_its_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(instruction.EFFORTS, "quick", instruction.Effort(0.01, (1, 2)))
    for row in rows_under_load(instruction):
        if row["what"] == instruction.ADD and row["valid"]:  # a clock each, by which the clock rate is defined
            assert row["total_clocks"] == pytest.approx(1.0, rel=0.1)
            assert 0.9 <= row["clocks_mean"] <= 1.1 * row["streams"]


@pytest.mark.skipif(idle_ns(affinity()) is None, reason="the system does not count idle time")
@pytest.mark.parametrize(
    "probe", [waking, pytest.param(chain, marks=pytest.mark.slow), pytest.param(threads, marks=pytest.mark.slow)]
)
def test_who_sleeps_is_not_woken_validly_on_cpus_that_others_use(probe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if probe is not threads:
        effort = waking.Effort(0.3, (0,), (1, 4)) if probe is waking else chain.Effort(0.3, ("mass",), (1, 4))
        monkeypatch.setitem(probe.EFFORTS, "quick", effort)
    for row in rows_under_load(probe):
        assert not row["valid"]
        assert any("other processes took" in why for why in row["why"])


@pytest.mark.slow
def test_triad_takes_turns_with_its_pollers_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(polling.EFFORTS, "quick", polling.Effort(0.1, (polling.FOREVER,), (1,)))
    monkeypatch.setattr(polling, "ARRAY_BYTES", 1 << 20)
    for row in rows_under_load(polling):
        if row["place"] == polling.BESIDE and row["valid"]:
            assert row["slowdown"] <= 1.2 * (1 + row["pollers"])
