"""A machine's memory is in small pages, or in the system's pool of huge pages if that is large enough."""

import gc
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smp
from smp._computer.huge_pages import HUGE, POOL, SWITCH, granted_to_shared_memory, pool_bytes
from smp._runtime.memory import segment as segments
from smp._runtime.memory.segment import PAGE, Segment
from smp.errors import OutOfSharedMemory

MIB = 1 << 20


def computer(root: Path, **files: str) -> Path:
    """Make a file tree with the numbers of the pool, the switch and one control group."""
    for name, text in files.items():
        path = {"switch": SWITCH[1:], "group": "proc/self/cgroup"}.get(name)
        file = root / (path or (f"sys/fs/cgroup/hugetlb.2MB.{name}" if "max" in name else f"{POOL}/{name}_hugepages"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_reserved_pages_of_the_pool_do_not_count_as_left(tmp_path: Path) -> None:
    assert pool_bytes(tmp_path) == 0
    root = computer(tmp_path, free="100\n", resv="30\n", group="0::/\n")
    assert pool_bytes(root) == 70 * HUGE
    limited = {"max": f"{50 * HUGE + 1}\n", "rsvd.max": "max\n"}
    assert pool_bytes(computer(tmp_path, **limited)) == 50 * HUGE
    assert pool_bytes(computer(tmp_path, **limited | {"rsvd.max": "0\n"})) == 0


@pytest.mark.parametrize(("switch", "granted"), [("[never]", False), ("[advise]", True), ("[always]", True)])
def test_the_switch_is_read(tmp_path: Path, switch: str, granted: bool) -> None:
    root = computer(tmp_path, switch=f"within_size {switch} force\n")
    assert granted_to_shared_memory(root) is granted
    assert not granted_to_shared_memory(tmp_path / "elsewhere")


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Simulate a pool of 64 MiB on a computer with 16 MiB of other memory left. The files are ordinary ones."""
    state = {"pool": 64 * MIB, "memory": 16 * MIB, "made": 0}
    made = os.memfd_create

    def memfd_create(name: str, flags: int = os.MFD_CLOEXEC) -> int:
        state["made"] += bool(flags & os.MFD_HUGETLB)
        return made(name)

    monkeypatch.setattr(segments, "pool_bytes", lambda: state["pool"])
    monkeypatch.setattr(segments, "available_memory", lambda: state["memory"])
    monkeypatch.setattr(os, "memfd_create", memfd_create)
    return state


def test_a_machine_uses_a_pool_that_holds_as_much_as_the_memory(pool: dict[str, int]) -> None:
    with smp.host(2) as machine:
        assert pool["made"] == 1
        assert "pool of huge pages, ready" in repr(machine)
        array = machine.array(np.arange(1000))
        assert machine.run(lambda proc: int(array.view.sum())).results == [499500] * 2
    assert Segment(pool=True).size == 16 * MIB + HUGE, "the header and as much as memory has left, not the whole pool"


def test_a_pool_that_is_too_small_is_not_used(pool: dict[str, int]) -> None:
    pool["pool"] = 16 * MIB  # no room for the header
    segment = Segment(pool=True)
    assert pool["made"] == 0
    assert segment.pages in ("small", "transparent")
    assert Segment().pages == segment.pages
    pool["pool"] = 64 * MIB
    assert Segment().pages != "pool", "an emulated machine needs no pool"


def test_a_pool_that_another_process_has_emptied_is_not_used(
    pool: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, calls = mmap.mmap, []

    def promised_no_more(fd: int, size: int, flags: int) -> Any:
        calls.append(size)
        if len(calls) == 1:
            raise OSError(12, "Cannot allocate memory")
        return made(fd, size, flags)

    monkeypatch.setattr(segments.mmap, "mmap", promised_no_more)
    assert Segment(pool=True).pages in ("small", "transparent")
    assert pool["made"] == 1


def test_reused_blocks_in_the_pool_are_zeroed_and_keep_their_pages(pool: dict[str, int]) -> None:
    segment = Segment(pool=True)
    free = list(segment._free)
    for nbytes in (PAGE, 3 * PAGE + 1, HUGE + PAGE, 5 * MIB):
        block = segment.allocate(nbytes)
        np.asarray(block)[:] = 1
        offset = block.offset
        del block
        gc.collect()
        held = os.fstat(segment.file.fileno()).st_blocks
        block = segment.allocate(nbytes)
        assert block.offset == offset
        assert not np.asarray(block).any()
        assert os.fstat(segment.file.fileno()).st_blocks == held > 0, "another process could take the pages of a hole"
        del block
    segment._take_back()
    assert segment._free == free


def test_a_full_pool_reports_the_bytes_that_are_left(pool: dict[str, int]) -> None:
    segment = Segment(pool=True)
    held = segment.allocate(10 * MIB)
    with pytest.raises(
        OutOfSharedMemory, match=r"does not fit: [0-9,]+ bytes are left, and this machine's arrays hold 10,485,760"
    ):
        segment.allocate(10 * MIB)
    assert held.nbytes == 10 * MIB
