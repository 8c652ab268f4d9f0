"""The facts of the computer are read from its files, kept in the profile, and printed with their sources."""

import json
import platform
from pathlib import Path

import pytest

from smp._computer import settings
from smp._computer.description import fingerprint, hardware
from smp._computer.facts import FACTS, gather
from smp._output.terminal import report
from smp.microbench import command
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import Plan
from smp.microbench.report.facts import part, said
from smp.microbench.report.first_screen import summary
from smp.profiles.conditions import Facts
from smp.profiles.profile import Profile


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def cpu(index: int, core: int, socket: int, siblings: str) -> dict[str, str]:
    """Return the files of a CPU with one cache of its core and one of its socket."""
    folder, all_of = f"sys/devices/system/cpu/cpu{index}", {0: "0-1,4-5", 1: "2-3,6-7"}[socket]
    told = {"topology/physical_package_id": str(socket), "topology/core_id": str(core)}
    told |= {"topology/thread_siblings_list": siblings, "thermal_throttle/core_throttle_count": "3"}
    for number, (level, kind, size, shared) in enumerate(((1, "Data", "32K", siblings), (3, "Unified", "8M", all_of))):
        told |= {f"cache/index{number}/{name}": text for name, text in {"level": str(level), "type": kind}.items()}
        told |= {f"cache/index{number}/size": size, f"cache/index{number}/shared_cpu_list": shared}
    return {f"{folder}/{name}": f"{text}\n" for name, text in told.items()}


SERVER = {
    **{name: text for k in range(8) for name, text in cpu(k, k % 2, k % 4 // 2, f"{k % 4},{k % 4 + 4}").items()},
    "sys/devices/system/cpu/online": "0-7\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/cpu/isolated": "\n",
    "sys/devices/system/cpu/nohz_full": " 6-7\n",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected\n",
    "sys/devices/system/cpu/vulnerabilities/mds": "Mitigation: Clear CPU buffers; SMT vulnerable\n",
    "sys/devices/system/cpu/vulnerabilities/srso": "Vulnerable\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq": "800000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "4700000\n",
    "sys/devices/system/node/node0/cpulist": "0-1,4-5\n",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  4000000 kB\nNode 0 MemFree: 1 kB\n",
    "sys/devices/system/node/node0/distance": "10 21\n",
    "sys/devices/system/node/node1/cpulist": "2-3,6-7\n",
    "sys/devices/system/node/node1/distance": "21 10\n",
    "sys/class/thermal/thermal_zone0/temp": "41000\n",
    "sys/class/hwmon/hwmon1/temp2_input": "63500\n",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "128\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "proc/cpuinfo": "cpu family : 6\nmodel : 85\nstepping : 7\nmicrocode : 0x5003604\nflags : fpu\n",
    "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 0 kB\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/perf_event_paranoid": "-1\n",
    "proc/sys/kernel/osrelease": "6.1.0\n",
    "proc/sys/kernel/hostname": "node7\n",
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 7\nnr_periods 5\nnr_throttled 4\n",
    "sys/fs/cgroup/memory.max": "2000000000\n",
    "proc/uptime": "7200.5 9000.1\n",
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n',
    "run/.containerenv": "",
}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return plant(tmp_path, SERVER)


def test_the_facts_of_a_server_are_read_from_its_files(server: Path) -> None:
    found = gather(server)
    expected = {
        "sockets": 2,
        "cores": 4,
        "threads": 8,
        "siblings": ["0,4", "1,5", "2,6", "3,7"],
        "smt": "on",
        "cpu_version": "cpu family 6, model 85, stepping 7",
        "microcode": "0x5003604",
        "isolated": None,
        "nohz_full": "6-7",
        "mitigations": {"mds": "Mitigation: Clear CPU buffers; SMT vulnerable", "srso": "Vulnerable"},
        "hypervisor": None,
        "governor": "powersave",
        "boost": True,
        "least_GHz": 0.8,
        "most_GHz": 4.7,
        "temperature_C": 63.5,
        "heat_throttled": 24,
        "memory_bytes": 8_192_000_000,
        "huge_private": "always",
        "huge_shared": None,
        "huge_pools": {"2048kB": 128},
        "numa_balancing": None,
        "swappiness": 60,
        "perf_event_paranoid": -1,
        "quota_cpus": 1.5,
        "quota_throttled": 4,
        "memory_limit_bytes": 2_000_000_000,
        "uptime_s": 7200.5,
        "kernel": "6.1.0",
        "distribution": "Debian GNU/Linux 12",
        "container": "podman",
    }
    assert {name: found[name] for name in expected} == expected
    assert len(found["caches"]) == 4 + 2, "each cache counts once, although several CPUs name it"
    assert found["nodes"] == [
        {"node": 0, "cpus": "0-1,4-5", "bytes": 4_096_000_000, "distances": [10, 21]},
        {"node": 1, "cpus": "2-3,6-7", "bytes": None, "distances": [21, 10]},
    ]
    assert "node7" not in json.dumps(found), "the computer's name is not a fact"


def test_facts_are_the_fields_of_their_record(server: Path) -> None:
    assert list(Facts.model_fields) == list(FACTS)
    assert len(FACTS) > 40
    for found in (gather(server), gather()):
        assert Facts.model_validate(json.loads(json.dumps(found))).to_json() == found


def test_missing_or_damaged_facts_are_none_and_not_printed(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/uptime": "long\n", "proc/meminfo": "MemTotal: much kB\n"})
    plant(tmp_path, {"sys/devices/system/node/node0/distance": "far\n"})
    found = gather(tmp_path)
    told = {name for name, value in found.items() if value is not None}
    calls = {"shared_bytes", "page_bytes", "affinity", "nice", "libc", "python", "numpy", "numba", "llvmlite", "scipy"}
    assert told <= calls | {"smp", "environment"}
    printed = report([part(found)])
    assert "uptime" not in printed
    assert "sockets" not in printed
    assert "numpy" in printed


def test_the_table_of_facts_names_their_sources(server: Path) -> None:
    printed = " ".join(report([part(gather(server))], width=100).split())
    for row in (
        "sockets 2 cpu/*/topology/physical_package_id",
        "mitigations mitigation: mds; vulnerable: srso cpu/vulnerabilities",
        "caches 4 x L1d 32 KiB, 2 x L3 8 MiB cpu/*/cache",
        "boost on cpu/cpufreq/boost, cpu/intel_pstate",
        "highest frequency 4.7 GHz cpufreq/cpuinfo_max_freq",
        "CPU quota 1.5 CPUs cpu.max of control groups",
        "memory limit 1.86 GiB memory.max of control groups",
        "uptime 2.0 h /proc/uptime",
    ):
        assert row in printed
    assert said("affinity", [0, 1, 2, 8]) == "0-2,8"
    assert said("mitigations", {}) == "not affected"


def test_the_environment_has_variables_that_matter_but_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "MALLOC_ARENA_MAX", "NUMBA_CACHE_DIR", "SMP_DATA_DIR", "HOME_OF_MINE"):
        monkeypatch.setenv(name, "7")
    found = settings.environment()
    assert {"OMP_NUM_THREADS", "MALLOC_ARENA_MAX"} <= set(found)
    assert not {"NUMBA_CACHE_DIR", "SMP_DATA_DIR", "HOME_OF_MINE"} & set(found)


def test_the_command_prints_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--facts"]) == 0
    assert "CPUs online" in capsys.readouterr().out
    assert command.main(["--facts", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(FACTS)


def test_the_name_of_the_computer_is_recorded_on_request_only() -> None:
    options = [command.parser().parse_args(given).name for given in ([], ["--name"], ["--name", "ada"])]
    assert options == [None, platform.node(), "ada"]
    plan = Plan("quick", (1,), 1, 64)
    anonymous, ada = (Campaign(plan, name=name).profile for name in (None, "ada"))
    assert "name" not in anonymous.data["machine"]
    assert ada.data["machine"]["name"] == "ada"
    assert fingerprint(anonymous.data["machine"]) == fingerprint(ada.data["machine"]) == fingerprint(hardware())
    assert repr(ada).startswith(f"<profile of ada ({ada.data['machine']['cpu']}, ")
    assert repr(anonymous).startswith(f"<profile of {ada.data['machine']['cpu']}, ")


def screen(**data: object) -> str:
    return " ".join(report([summary(Profile(data))], width=100).split())  # type: ignore[arg-type]


def test_the_first_screen_has_the_conditions(server: Path) -> None:
    quiet, busy = {"busy": []}, {"busy": ["make (9) takes 98% of a CPU", "the hypervisor takes 5% of the time"]}
    text = screen(facts=gather(server), conditions={"before": quiet, "after": quiet})
    assert "System Linux 6.1.0" in text
    assert "huge pages always, governor powersave, boost on, SMT on, CPU quota 1.50" in text
    assert "Conditions quiet before and after, stolen time" in text
    assert "BUSY" not in text
    text = screen(conditions={"before": quiet, "after": busy})
    assert "BUSY after: make (9) takes 98% of a CPU" in text
    assert "hypervisor" not in text, "the screen names the first cause only; the profile has all of them"
    assert "quiet" not in text
    assert "quiet" not in screen(conditions={"before": quiet}), "nothing is known about the end"
    assert "System" not in text
