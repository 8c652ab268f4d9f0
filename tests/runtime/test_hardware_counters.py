"""Hardware counters: the attributes of an event, the counts that are read, and the reasons if the system refuses."""

from __future__ import annotations

import errno
import mmap
import os
import struct
from pathlib import Path

import pytest

from smp._computer import perf_events
from smp._computer.perf_events import Counters, attributes, open_event, why_not

SOFTWARE, PAGE_FAULTS = 1, 2


def test_the_attributes_match_the_kernels_header() -> None:
    kind, size, event, period, sampled, read, flags = struct.unpack_from("=IIQQQQQ", attributes(1))
    assert len(attributes(1)) == size == 64  # PERF_ATTR_SIZE_VER0
    assert (kind, event, period, sampled, read) == (0, 1, 0, 0, 3)
    assert flags == 0b1100011  # disabled, inherit; bits 5 and 6: neither the kernel nor the hypervisor


class Fake:
    """Counters that are pipes, which return prepared readings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *readings: tuple[int, int, int] | int) -> None:
        self._readings, self.asked = iter(readings), []
        self.files: list[int] = []
        monkeypatch.setattr(perf_events.fcntl, "ioctl", lambda file, request: self.asked.append(request))

    def __call__(self, attr: bytes) -> int:
        reading = next(self._readings)
        if isinstance(reading, int):
            raise OSError(reading, os.strerror(reading))
        out, into = os.pipe()
        os.write(into, struct.pack("=QQQ", *reading))
        os.close(into)
        self.files.append(out)
        return out


def test_counts_are_scaled_by_the_time_for_which_a_counter_was_free(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(monkeypatch, (1000, 100, 100), (300, 100, 25), (7, 100, 0))
    counters = Counters(fake)
    counters.start()
    assert counters.stop() == {"cycles": 1000, "instructions": 1200}
    assert counters.missing == {"cache misses": "not counted: all counters of this processor are in use"}
    assert fake.asked == [0x2400] * 3 + [0x2401] * 3
    counters.close()
    for file in fake.files:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)


def test_a_refused_event_does_not_affect_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    setting = tmp_path / "proc/sys/kernel/perf_event_paranoid"
    setting.parent.mkdir(parents=True)
    setting.write_text("3\n")
    counters = Counters(Fake(monkeypatch, errno.EACCES, (5, 10, 10), errno.ENOENT), tmp_path)
    counters.start()
    assert counters.stop() == {"instructions": 5}
    assert counters.missing["cycles"].startswith("not allowed: perf_event_paranoid (3) is above 2, ")
    assert counters.missing["cache misses"].startswith("not available: this processor, or its hypervisor")
    counters.close()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EPERM, "not allowed: perf_event_paranoid (None) "),
        (errno.ENODEV, "provides no such counter"),
        (errno.EOPNOTSUPP, "provides no such counter"),
        (errno.ENOSYS, "no perf_event_open on"),
        (errno.EMFILE, "not counted: Too many open files"),
    ],
)
def test_a_reason_is_given_for_an_event_that_is_not_counted(number: int, said: str, tmp_path: Path) -> None:
    assert said in why_not(OSError(number, os.strerror(number)), tmp_path)


def test_nothing_is_counted_on_an_unknown_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_events.platform, "machine", lambda: "pdp11")
    assert set(Counters().missing) == {"cycles", "instructions", "cache misses"}
    assert all("pdp11" in why for why in Counters().missing.values())


def test_page_faults_are_counted_if_the_system_allows_it() -> None:
    """The kernel counts page faults itself, so they can be counted wherever the call is allowed."""

    def faults(attr: bytes) -> int:
        return open_event(struct.pack("=IIQ", SOFTWARE, 64, PAGE_FAULTS) + attr[16:])

    counters = Counters(faults)
    if counters.missing:
        pytest.skip(counters.missing["cycles"])
    counters.start()
    with mmap.mmap(-1, 1 << 24) as fresh:
        fresh.write(b"1" * (1 << 24))
    found = counters.stop()
    counters.close()
    assert found["cycles"] == found["instructions"] > 0


def test_hardware_counters_count_or_give_a_reason() -> None:
    counters = Counters()
    counters.start()
    assert sum(range(100_000)) == 4_999_950_000
    found = counters.stop()
    counters.close()
    assert {*found, *counters.missing} == {"cycles", "instructions", "cache misses"}
    assert all(said.startswith("not ") for said in counters.missing.values())
    if "instructions" in found:
        assert found["instructions"] > 100_000
