"""The description of the machine, read from file trees like those of real computers."""

import json
from pathlib import Path

import numpy as np
import pytest

from smp._computer import cpus, description, limits, system
from smp._computer.cpus import Cache
from smp.microbench.method.clocks import ClockRate, clock_rate

RATE = ClockRate(3.5, 2.5)

CPUINFO = """\
processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz
cpu MHz\t\t: 2499.998
cache_alignment\t: 64
flags\t\t: fpu vme tsc hypervisor lahf_lm

processor\t: 1
model name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz
flags\t\t: fpu vme tsc hypervisor lahf_lm
"""
MEMINFO = """\
MemTotal:       8000000 kB
MemFree:         100000 kB
MemAvailable:   6000000 kB
HugePages_Total:       0
"""
STAT = """\
cpu  300 0 120 1000 30 0 6 70 9 0
cpu0 100 0 50 500 20 0 1 60 9 0
cpu1 200 0 70 500 10 0 5 10 0 0
cpu10 900 0 0 0 0 0 0 900 0 0
intr 1234 0
"""


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a file tree."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def cache_files(index: int, level: int, kind: str, size: str, shared: str) -> dict[str, str]:
    folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
    told = {"level": f"{level}", "type": kind, "size": size, "shared_cpu_list": shared}
    return {f"{folder}/{name}": text + "\n" for name, text in {**told, "coherency_line_size": "128"}.items()}


CACHES = {
    **cache_files(0, 1, "Data", "32K", "0,24"),
    **cache_files(1, 1, "Instruction", "32K", "0,24"),
    **cache_files(10, 3, "Unified", "36M", "0-23,24-47"),
    **cache_files(2, 2, "Unified", "1024K", "0,24"),
}
SERVER = {
    "proc/cpuinfo": CPUINFO,
    "proc/meminfo": MEMINFO,
    "proc/stat": STAT,
    "proc/loadavg": "1.75 0.50 0.25 2/345 6789\n",
    "proc/self/cgroup": "0::/\n",
    "proc/sys/kernel/hostname": "node7\n",
    "proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size advise [never] deny force\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    **CACHES,
}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return plant(tmp_path, SERVER)


# --- the whole description


def test_a_machine_is_described_by_its_files(server: Path) -> None:
    told = description.machine(RATE, server)
    assert list(told) == [
        *("cpu", "cpus", "clock_GHz", "clock_source", "line_bytes", "page_bytes", "huge_pages"),
        *("caches", "virtual", "kernel", "python", "numpy", "numba"),
    ]
    assert told["cpu"] == "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"
    assert told["clock_GHz"] == 3.5
    assert "estimate" in told["clock_source"]
    assert "2.50 GHz" in told["clock_source"]
    assert told["line_bytes"] == 128
    assert told["huge_pages"] == {"private": "madvise", "shared": "never"}
    assert told["caches"] == [
        {"level": 1, "bytes": 32 << 10, "shared_by": 2},
        {"level": 2, "bytes": 1 << 20, "shared_by": 2},
        {"level": 3, "bytes": 36 << 20, "shared_by": 48},
    ]
    assert told["virtual"] is True
    assert told["kernel"].endswith(" 6.1.0-13-amd64")
    assert told["numpy"] == np.__version__
    assert json.loads(json.dumps(told)) == told


def test_an_empty_tree_still_describes_a_machine(tmp_path: Path) -> None:
    told = description.machine(RATE, tmp_path)
    assert json.loads(json.dumps(told)) == told
    assert told["virtual"] is None
    assert told["huge_pages"] == {"private": None, "shared": None}
    assert told["line_bytes"] == 64
    assert [cache["assumed"] for cache in told["caches"]] == [True, True, True]
    assert told["cpu"]
    assert "name" not in told, "the name is recorded on request only"
    assert told["cpus"] >= 1


def test_this_machine_describes_itself() -> None:
    told = description.machine(clock_rate())
    assert json.loads(json.dumps(told)) == told
    assert told["clock_GHz"] > 0
    sizes = [cache["bytes"] for cache in told["caches"]]
    assert sizes == sorted(sizes)


# --- the fingerprint


def test_the_fingerprint_depends_on_the_hardware_only(server: Path) -> None:
    told = description.machine(RATE, server)
    name = description.fingerprint(told)
    assert len(name) == 12
    same = {"kernel": "Linux 7.0", "numpy": "9.9", "clock_GHz": 1.0, "name": "other", "huge_pages": {}}
    assert description.fingerprint(told | same) == name
    assert description.fingerprint(json.loads(json.dumps(told))) == name
    others = [{"cpu": "Z80"}, {"cpus": 99}, {"line_bytes": 32}, {"caches": told["caches"][:2]}]
    names = {description.fingerprint(told | other) for other in others}
    assert len(names | {name}) == 5


# --- CPUs


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        (CPUINFO, "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"),
        ("processor : 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("processor : 0\nBogoMIPS : 108.00\nHardware : BCM2835\n", "BCM2835"),
    ],
)
def test_the_processor_is_named_by_cpuinfo(tmp_path: Path, cpuinfo: str, name: str) -> None:
    assert cpus.model(plant(tmp_path, {"proc/cpuinfo": cpuinfo})) == name


def test_the_board_names_a_processor_without_a_name(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/cpuinfo": "processor : 0\n", "proc/device-tree/model": "Raspberry Pi 4\0"})
    assert cpus.model(tmp_path) == "Raspberry Pi 4"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2.5),
        # the smallest quota of the group and those above it counts
        (
            {
                "proc/self/cgroup": "0::/jobs/mine\n",
                "sys/fs/cgroup/jobs/mine/cpu.max": "max 100000\n",
                "sys/fs/cgroup/jobs/cpu.max": "150000 100000\n",
                "sys/fs/cgroup/cpu.max": "300000 100000\n",
            },
            1.5,
        ),
        # inside a container the path is that of the host, and only the top group exists
        ({"proc/self/cgroup": "0::/docker/ab12\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        # control groups of version 1
        (
            {
                "proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/docker/ab12\n0::/\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            4.0,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_the_quota_is_that_of_the_control_groups(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    assert limits.quota(plant(tmp_path, files)) == quota


def test_the_quota_follows_a_process_into_another_group(tmp_path: Path) -> None:
    first, second = "sys/fs/cgroup/first/cpu.max", "sys/fs/cgroup/second/cpu.max"
    plant(tmp_path, {"proc/self/cgroup": "0::/first\n", first: "100000 100000\n", second: "300000 100000\n"})
    assert limits.quota(tmp_path) == 1
    plant(tmp_path, {first: "200000 100000\n"})
    assert limits.quota(tmp_path) == 2
    plant(tmp_path, {"proc/self/cgroup": "0::/second\n"})
    assert limits.quota(tmp_path) == 3


@pytest.mark.parametrize(("quota", "usable"), [("max", 4), ("50000", 1), ("250000", 2), ("900000", 4)])
def test_usable_cpus_respect_affinity_and_quota(tmp_path: Path, quota: str, usable: int) -> None:
    plant(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": f"{quota} 100000\n"})
    assert cpus.usable(tmp_path, frozenset({0, 2, 4, 6})) == usable


ARM = {"proc/cpuinfo": "Features : fp asimd\n"}


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({"proc/cpuinfo": CPUINFO}, True),
        ({"proc/cpuinfo": CPUINFO.replace("hypervisor ", "")}, False),
        (ARM, None),
        (ARM | {"sys/class/dmi/id/product_name": "KVM Virtual Machine\n"}, True),
        (ARM | {"sys/class/dmi/id/sys_vendor": "Lenovo\n"}, False),
        ({"sys/hypervisor/type": "xen\n"}, True),
    ],
)
def test_virtual_machines_are_recognised(tmp_path: Path, files: dict[str, str], virtual: bool | None) -> None:
    assert cpus.virtual(plant(tmp_path, files)) is virtual


def test_caches_that_the_system_does_not_report_are_marked_as_assumed(tmp_path: Path) -> None:
    assert cpus.caches(tmp_path) == cpus.DEFAULTS
    assert all(cache.assumed for cache in cpus.DEFAULTS)
    plant(tmp_path, cache_files(0, 2, "Unified", "512K", ""))
    assert cpus.caches(tmp_path) == (Cache(2, 512 << 10, 1),)


def test_damaged_cache_files_are_ignored(tmp_path: Path) -> None:
    plant(tmp_path, CACHES | cache_files(3, 4, "Unified", "lots", "0"))
    assert [cache.level for cache in cpus.caches(tmp_path)] == [1, 2, 3]


def test_the_size_of_a_line_comes_from_the_caches_or_else_from_cpuinfo(tmp_path: Path) -> None:
    assert cpus.line_bytes(tmp_path) == 64
    plant(tmp_path, {"proc/cpuinfo": "cache_alignment : 32\n"})
    assert cpus.line_bytes(tmp_path) == 32
    assert cpus.line_bytes(plant(tmp_path, CACHES)) == 128


# --- memory


@pytest.mark.parametrize(
    ("files", "memory"),
    [
        ({}, (8_192_000_000, 6_144_000_000)),
        (
            {"sys/fs/cgroup/memory.max": "2000000000\n", "sys/fs/cgroup/memory.current": "500000000\n"},
            (2_000_000_000, 1_500_000_000),
        ),
        ({"sys/fs/cgroup/memory.max": "max\n"}, (8_192_000_000, 6_144_000_000)),
        # more is used than the limit allows
        (
            {"sys/fs/cgroup/memory.max": "2000000000\n", "sys/fs/cgroup/memory.current": "2000004096\n"},
            (2_000_000_000, 0),
        ),
        (
            {
                "proc/self/cgroup": "5:memory:/box\n",
                "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1000000000\n",
                "sys/fs/cgroup/memory/box/memory.usage_in_bytes": "250000000\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            (1_000_000_000, 750_000_000),
        ),
    ],
)
def test_memory_respects_the_control_groups(server: Path, files: dict[str, str], memory: tuple[int, int]) -> None:
    assert system.memory(plant(server, files)) == memory


# --- stolen time


def test_stolen_ticks_are_those_of_the_given_cpus(server: Path) -> None:
    assert system.cpu_ticks([0], server) == (60, 100 + 50 + 500 + 20 + 1 + 60)
    assert system.cpu_ticks([0, 1], server) == (70, 731 + 795)
    assert system.cpu_ticks([10], server) == (900, 1800), "cpu1 is not cpu10"
    assert system.cpu_ticks([5], server) is None
    plant(server, {"proc/stat": "cpu0 100 0 50 500 20 0 1\n"})
    assert system.cpu_ticks([0], server) is None, "this kernel does not count stolen time"


def test_stolen_time_is_in_nanoseconds(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.os, "sysconf", lambda name: {"SC_CLK_TCK": 100}[name])
    assert system.stolen_ns([0, 1], server) == 700_000_000
    assert system.stolen_ns([5], server) is None


def test_the_stolen_fraction_is_that_of_the_interval(server: Path) -> None:
    stolen = system.Stolen([0], server)
    assert stolen.fraction() is None, "no tick has passed"
    plant(server, {"proc/stat": STAT.replace("cpu0 100 0 50 500 20 0 1 60", "cpu0 150 0 50 515 20 0 1 95")})
    assert stolen.fraction() == 35 / 100
    (server / "proc/stat").unlink()
    assert stolen.fraction() is None
    assert system.Stolen([0], server).fraction() is None


# --- small readers


def test_readers_return_none_for_missing_or_damaged_files(tmp_path: Path) -> None:
    plant(tmp_path, {"empty": " \n", "text": "x1\n", "seven": " 7\n", "proc/loadavg": "no load\n"})
    (tmp_path / "folder").mkdir()
    assert [system.read(tmp_path / name) for name in ("absent", "empty", "folder", "text")] == [
        *[None] * 3,
        "x1",
    ]
    assert [system.number(tmp_path / name) for name in ("absent", "text", "seven")] == [None, None, 7]
    assert system.load(tmp_path) is None


def test_lists_of_cpus_are_parsed() -> None:
    assert cpus.cpu_list("0-3,8,10-11") == [0, 1, 2, 3, 8, 10, 11]
    assert cpus.cpu_list("") == []
