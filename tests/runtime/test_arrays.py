"""Global arrays: their elements, and how their memory is allocated and given back."""

import gc
import itertools
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.machines import Machines, Script, descriptors, segments
from support.sampled import examples

import smp
from smp._computer import limits
from smp._runtime.memory import segment as _segments
from smp._runtime.memory.segment import HUGE, PAGE, Segment
from smp.errors import MachineClosed, MachineError, OutOfSharedMemory, ProcessorRaised

RECORD = np.dtype([("a", "i2"), ("b", "f8", (2, 2)), ("c", [("d", "U3"), ("e", "c8")])], align=True)
DTYPES = [
    *"?bBhHiIlLqQefdgFDG",
    "S5",
    "U7",
    "M8[s]",
    "M8[D]",
    "m8[ns]",
    "V3",
    ">i4",
    ">f8",
    "<U4",
    RECORD,
    np.dtype("i4,f8"),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_array_may_have_every_dtype_without_objects(pair: smp.Machine, dtype: Any) -> None:
    random = np.random.default_rng(1)
    size = np.dtype(dtype).itemsize
    data = random.integers(1, 100, (6, 4, size), np.uint8)
    if np.dtype(dtype).kind == "?":
        data %= 2
    data = np.zeros((6, 4), dtype) if np.dtype(dtype).kind in "UV" else data.reshape(6, -1).view(dtype)
    if np.dtype(dtype).kind == "U":
        data[...] = "äb"
    array = pair.array(data)
    assert (array.shape, array.dtype, array.size, array.nbytes, array.ndim) == ((6, 4), data.dtype, 24, 24 * size, 2)
    assert len(array) == 6
    assert repr(array) == f"GlobalArray(shape=(6, 4), dtype={data.dtype})"
    assert array[:].tobytes() == np.asarray(array).tobytes() == data.tobytes()

    def program(proc: smp.Processor, array: smp.GlobalArray) -> Any:
        with proc.superstep() as step:
            mine = step.copy_in(array, proc.block(6))
            step.copy_out(array, proc.block(6), mine[::-1])
        return mine

    run = pair.run(program, array)
    assert b"".join(mine.tobytes() for mine in run.results) == data.tobytes()
    assert array[:].tobytes() == data[2::-1].tobytes() + data[:2:-1].tobytes()
    assert run.steps["bytes_read"].tolist() == [12 * size] * 2


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_new_array_is_zero(pair: smp.Machine, dtype: Any) -> None:
    array = pair.zeros((3, 2), dtype)
    assert array[:].tobytes() == np.zeros((3, 2), dtype).tobytes()


def test_the_parent_and_processors_make_arrays_as_numpy_does(machines: Machines) -> None:
    machine = machines(3)

    def program(proc: smp.Processor) -> list[np.ndarray]:
        made = [
            proc.zeros(5),
            proc.empty((2, 3), "i4"),
            proc.full((7,), 2.5),
            proc.full((4, 3), [1, 2, 3]),
            proc.full((), 7, np.int8),
            proc.full((2, 3), 3, np.float32),
            proc.array([[1, 2], [3, 4], [5, 6]]),
            proc.array(np.float32(3)),
            proc.array(np.zeros((0, 3))),
        ]
        proc.barrier()
        return [array.view.copy() for array in made]

    wanted = [
        np.zeros(5),
        np.zeros((2, 3), "i4"),
        np.full(7, 2.5),
        np.full((4, 3), [1, 2, 3]),
        np.full((), 7, np.int8),
        np.full((2, 3), 3, np.float32),
        np.array([[1, 2], [3, 4], [5, 6]]),
        np.array(np.float32(3)),
        np.zeros((0, 3)),
    ]
    for results in machine.run(program).results:
        for got, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
    np.testing.assert_array_equal(machine.full((4, 3), [1, 2, 3])[:], wanted[3], strict=True)
    np.testing.assert_array_equal(machine.full((), 7, np.int8)[...], wanted[4], strict=True)


@settings(deadline=None, max_examples=examples(50))
@given(data=hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_any_array_survives_the_way_to_a_processor_and_back(machines: Machines, data: np.ndarray) -> None:
    machine = machines(1)
    array = machine.array(data)
    assert array[...].tobytes() == data.tobytes()
    back = machine.run(lambda proc: (array, array.view.tobytes())).results[0]
    assert back[1] == data.tobytes()
    assert back[0].shape == data.shape
    assert back[0].dtype == data.dtype


def test_a_dtype_with_a_shape_adds_dimensions(pair: smp.Machine) -> None:
    array = pair.zeros(3, np.dtype((np.int32, (2,))))
    assert (array.shape, array.dtype) == ((3, 2), np.int32)


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 10**12), ()])
def test_arrays_may_be_empty_or_without_dimensions(pair: smp.Machine, shape: Any) -> None:
    array = pair.zeros(shape, np.int16)
    np.testing.assert_array_equal(array[...], np.zeros(shape, np.int16), strict=True)

    def program(proc: smp.Processor) -> int:
        with proc.superstep() as step:
            seen = step.copy_in(array)
            step.copy_out(array, ..., seen)
        return int(seen.size)

    assert pair.run(program).results == [array.size] * 2


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    (
        3,
        object,
        TypeError,
        r"a global array cannot hold Python objects \(dtype object\): they exist in one process only",
    ),
    (3, [("a", object)], TypeError, "cannot hold Python objects"),
    (3, np.dtypes.StringDType(), TypeError, "cannot hold Python objects"),
    (3, "U", TypeError, r"needs a dtype with a size, not dtype\('<U0?'\); give the length, as in 'U16'"),
    (3, "nonsense", TypeError, "nonsense"),
    (-1, float, ValueError, "must not have a negative length: -1"),
    ((3, -2), float, ValueError, r"must not have a negative length: \(3, -2\)"),
    (float("nan"), float, TypeError, "must be made of integers, not nan"),
    (3.0, float, TypeError, r"must be made of integers, not 3\.0"),
    ((2, 3.5), float, TypeError, r"must be made of integers, not of 3\.5"),
    ((2, float("nan")), float, TypeError, "must be made of integers, not of nan"),
    (True, float, TypeError, "must be made of integers, not of True"),
    ("ab", float, TypeError, "must be made of integers, not of 'a'"),
    (None, float, TypeError, "must be made of integers, not None"),
    (10**15, float, OutOfSharedMemory, "a global array of 8,000,000,000,000,000 bytes does not fit: [0-9,]+ bytes are"),
    ((10**30, 10**30), float, OutOfSharedMemory, "does not fit"),
]


@pytest.mark.parametrize(("shape", "dtype", "kind", "text"), BAD)
def test_impossible_arrays_are_refused(
    pair: smp.Machine, shape: Any, dtype: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        pair.zeros(shape, dtype)
    with pytest.raises(ProcessorRaised, match=text) as caught:
        pair.run(lambda proc: proc.zeros(shape, dtype))
    assert isinstance(caught.value.__cause__, kind)


def test_objects_are_refused_before_they_are_copied(pair: smp.Machine) -> None:
    with pytest.raises(TypeError, match="cannot hold Python objects"):
        pair.array([1, None])


def test_the_error_reports_the_memory_that_is_left(pair: smp.Machine) -> None:
    """Three fifths of the memory do not fit twice, although none of it has been touched."""
    left = limits.available_memory()
    held = pair._processors.allocate(left // 5 * 3)
    with pytest.raises(OutOfSharedMemory) as caught:
        pair._processors.allocate(left // 5 * 3)
    assert isinstance(caught.value, MemoryError)
    said = [int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]+", str(caught.value))]
    assert said[0] == left // 5 * 3
    assert abs(said[1] - left * 2 / 5) < left / 5
    del held, caught
    gc.collect()
    pair._processors.allocate(left // 5 * 3)


def test_small_blocks_are_allocated_without_a_look_at_the_memory_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left, now, looks = 64 * PAGE, 0.0, 0

    def available() -> int:
        nonlocal looks
        looks += 1
        return left

    monkeypatch.setattr(_segments, "available_memory", available)
    monkeypatch.setattr(_segments, "time", SimpleNamespace(monotonic=lambda: now))
    segment = Segment()
    held = [segment.allocate(1)]  # then 63 pages are left, a part of which is less than a page
    left = 64 * 3 * PAGE
    held += [segment.allocate(1) for _ in range(3)]  # the first one looks, and two more are granted
    assert looks == 2
    left = 0
    with pytest.raises(OutOfSharedMemory, match="0 bytes are left"):
        segment.allocate(1)
    left = 64 * 100 * PAGE
    held.append(segment.allocate(1))
    left, now = 0, 2 * _segments.MOMENT
    with pytest.raises(OutOfSharedMemory, match="0 bytes are left"):
        segment.allocate(1)
    assert looks == 5
    assert len(segment.blocks()) == len(held)


def computer(root: Path, groups: str, **files: str) -> Path:
    """Make a file tree with 2 MB of free memory and with control groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal: 4000 kB\nMemAvailable: 2000 kB\n")
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_control_groups_bound_the_memory(tmp_path: Path) -> None:
    two = computer(tmp_path / "two", "0::/\n", memory_dot_max="1000000\n", memory_dot_current="700000\n")
    assert limits.available_memory(two) == 300_000
    group = two / "sys/fs/cgroup"
    (group / "memory.stat").write_text("anon 5\ninactive_file 150000\nactive_file 7\n")
    assert limits.available_memory(two) == 450_000  # the page cache can be freed
    (group / "memory.max").write_text("max\n")
    assert limits.available_memory(two) == 2000 * 1024
    one = computer(
        tmp_path / "one",
        "3:memory:/\n",
        memory__memory_dot_limit_in_bytes="1000000\n",
        memory__memory_dot_usage_in_bytes="1200000\n",
    )
    assert limits.available_memory(one) == 0
    (one / "sys/fs/cgroup/memory/memory.stat").write_text("inactive_file 1\ntotal_inactive_file 300000\n")
    assert limits.available_memory(one) == 100_000


def test_without_proc_the_system_is_asked_for_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unread() -> None:
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    total = limits.physical_memory()
    monkeypatch.setattr("psutil.virtual_memory", unread)
    assert limits.physical_memory() == pytest.approx(total, rel=0.1)
    assert 0 < limits.available_memory(tmp_path) <= limits.physical_memory()


def test_control_groups_bound_the_cpus(tmp_path: Path) -> None:
    allowed = [3, 5, 7]
    two = computer(tmp_path / "two", "0::/\n", cpu_dot_max="50000 100000\n")
    assert limits.usable_cpus(two, allowed) == [3]
    (two / "sys/fs/cgroup/cpu.max").write_text("max 100000\n")
    assert limits.usable_cpus(two, allowed) == allowed
    one = computer(
        tmp_path / "one",
        "3:cpu:/\n",
        cpu__cpu_dot_cfs_quota_us="250001\n",
        cpu__cpu_dot_cfs_period_us="100000\n",
    )
    assert limits.usable_cpus(one, allowed) == [3, 5]


def used(machine: smp.Machine) -> int:
    """Return the bytes of physical memory that a machine's segment holds."""
    return os.fstat(machine._processors.segment.file.fileno()).st_blocks * 512


def test_a_block_is_given_back_and_reused_as_zeros(machines: Machines) -> None:
    machine = machines(2)
    gc.collect()
    before = used(machine)
    for _ in range(5):
        array = machine.full(1 << 20, 7.0)
        offset = array._elements.block.offset
        assert used(machine) >= before + (8 << 20)
        del array
        assert used(machine) <= before + PAGE
        array = machine.zeros(1 << 20)
        assert array._elements.block.offset == offset
        assert not array[:].any()
        del array
    assert used(machine) <= before + PAGE


def test_a_view_keeps_its_memory(pair: smp.Machine) -> None:
    array = pair.array(np.arange(1000))
    part = array.view[10:20]
    del array
    others = [pair.full(1000, -1) for _ in range(10)]
    np.testing.assert_array_equal(part, np.arange(10, 20))
    del others


@settings(deadline=None, max_examples=examples(50))
@given(steps=st.lists(st.one_of(st.integers(1, 40 * PAGE), st.integers(-20, 0)), max_size=40))
def test_blocks_never_overlap_and_all_are_given_back(steps: list[int]) -> None:
    """A positive number allocates that many bytes; any other number frees one of the existing blocks."""
    segment = Segment()
    free = list(segment._free)
    held: list[Any] = []
    octets = block = None
    for step in steps:
        if step > 0:
            block = segment.allocate(step)
            octets = np.asarray(block)
            assert len(octets) == step
            assert not octets.any()
            octets[:] = 1 + len(held) % 250
            held.append(block)
            ends = sorted((b.offset, b.offset + b.nbytes) for b in held)
            assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
        elif held:
            held.pop(step % len(held))
    held.clear()
    del octets, block
    segment._take_back()
    assert segment._free == free
    assert segment._taken == 0
    segment.close()


def test_large_blocks_are_aligned_for_huge_pages_and_ask_for_them(pair: smp.Machine) -> None:
    small = pair.zeros(10)
    large = pair.zeros(HUGE // 8 + 1)
    assert large._elements.block.offset % HUGE == 0
    assert small._elements.block.offset % PAGE == 0

    def flags(address: int) -> list[str]:
        """Return the VmFlags of the mapping that contains an address."""
        inside = False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                inside = int(match[1], 16) <= address < int(match[2], 16)
            elif inside and line.startswith("VmFlags:"):
                return line.split()[1:]
        return []

    if "hg" not in flags(large.view.ctypes.data):
        pytest.skip("this kernel has no huge pages, and said no")
    assert "hg" not in flags(small.view.ctypes.data)

    def program(proc: smp.Processor) -> list[bool]:
        made = proc.zeros(HUGE // 8)
        return ["hg" in flags(array.view.ctypes.data) for array in (large, made)]

    assert pair.run(program).results == [[True, True]] * 2


def test_zeros_touches_all_of_its_memory(pair: smp.Machine) -> None:
    """Each processor touches its own share, so that those pages are in its memory. All of them exist afterwards."""
    before = used(pair)
    array = pair.zeros(4 << 20, np.uint8)
    assert used(pair) == before + (4 << 20)
    del array


def test_arrays_outlive_their_machine() -> None:
    gc.collect()
    before = descriptors(), segments()
    with smp.host(2) as machine:
        array, view = machine.array(np.arange(100)), machine.full(100, 3.5).view
        made = machine.run(lambda proc: proc.full(10, 7)).results[1]
    del machine
    assert array[:].sum() == 4950
    array[0] = 50
    assert array[:].sum() == 5000
    assert view.sum() == 350
    assert made[:].tolist() == [7] * 10
    assert segments() == before[1] + 1
    del array, view, made
    gc.collect()
    assert (descriptors(), segments()) == before


def test_a_closed_machine_makes_no_arrays() -> None:
    machine = smp.host(1)
    machine.close()
    for make in (lambda: machine.zeros(3), lambda: machine.array([1]), lambda: machine.full(2, 1)):
        with pytest.raises(MachineClosed, match=r"this machine is closed: close\(\) was called"):
            make()


@pytest.mark.parametrize("start", ["forkserver", "fork"])
def test_arrays_of_another_machine_are_refused(start: str) -> None:
    with smp.host(1) as one:
        array = one.zeros(3)
        with smp.host(1, start=start) as other, pytest.raises(ProcessorRaised) as caught:
            other.run(lambda proc: array.view.sum())
    assert isinstance(caught.value.__cause__, MachineError)
    assert "a global array of another machine was sent here" in str(caught.value)


def test_an_array_made_by_processors_ends_with_the_run_unless_returned(pair: smp.Machine) -> None:
    before = used(pair)

    def keeps(proc: smp.Processor, how: str) -> Any:

        array = proc.full(1 << 18, 1.0)
        sys.modules["smp"].kept = array
        return array if how == "returned" else None

    pair.run(keeps, "dropped")
    assert used(pair) <= before + PAGE
    with pytest.raises(MachineError, match="a global array that no longer exists was sent here"):
        pair.run(lambda proc: __import__("sys").modules["smp"].kept)
    kept = pair.run(keeps, "returned").results[0]
    assert kept[:].all()
    assert used(pair) >= before + (2 << 20)
    again = pair.run(lambda proc: __import__("sys").modules["smp"].kept).results[1]
    assert np.shares_memory(again.view, kept.view)
    del kept, again
    assert used(pair) <= before + PAGE


def test_a_pickled_array_refers_to_the_same_memory(pair: smp.Machine) -> None:
    array = pair.array(np.arange(5))
    data = pickle.dumps(array)
    assert np.shares_memory(pickle.loads(data).view, array.view)
    del array
    with pytest.raises(MachineError, match="that no longer exists"):
        pickle.loads(data)


def test_several_threads_may_make_and_drop_arrays_at_once(pair: smp.Machine) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        held: list[smp.GlobalArray] = []
        for _ in range(100):
            array = pair.zeros(int(random.integers(1, 3000)), np.int32)
            if array.view.any():
                wrong.append(number)
            array.view[:] = number
            held.append(array)
            if len(held) > 5:
                gone = held.pop(int(random.integers(len(held))))
                if (gone.view != number).any():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_block_may_be_freed_while_another_is_allocated(pair: smp.Machine) -> None:
    """The garbage collector may drop arrays in the middle of `allocate`."""
    segment = pair._processors.segment

    def littering() -> None:
        loop: list[Any] = [segment.allocate(PAGE)]
        loop.append(loop)

    run_of: Callable[..., int] = segment._run_of
    taken: list[int] = []

    def collecting(length: int, align: int) -> int:
        gc.collect()
        taken.append(run_of(length, align))
        return taken[-1]

    held = []
    segment._run_of = collecting  # type: ignore[method-assign]
    try:
        for k in range(20):
            littering()
            held.append(segment.allocate(PAGE * (1 + k % 3)))
    finally:
        del segment._run_of
    ends = sorted((b.offset, b.offset + b.nbytes) for b in held)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))


def test_no_file_is_left_when_the_parent_is_killed(script: Script) -> None:
    """There is not even a file in /dev/shm, because the memory has no name."""
    before = sorted(os.listdir("/dev/shm"))
    process = script("""
        import os, smp
        machine = smp.host(2)
        array = machine.full(1 << 20, 1.0)
        print("made", flush=True)
        os.kill(os.getpid(), 9)
    """)
    assert process.stdout is not None
    assert process.stdout.readline() == "made\n"
    process.wait()
    assert sorted(os.listdir("/dev/shm")) == before


def test_a_segment_is_found_by_its_id_and_has_no_name(pair: smp.Machine) -> None:
    segment = pair._processors.segment
    assert _segments.segment_of(segment.id) is segment
    assert os.fstat(segment.file.fileno()).st_nlink == 0
