"""Two "computers" with a network between them and the parent: each has namespaces of its own, for its network, the
numbers of its processes, its name, and the files in its shared memory.

    parent ── bridge ─┬─ link ── node1
                      └─ link ── node2

The launcher starts its proxies there as it does over ssh: they live on when the process is killed that has started
them. A link is a pair of virtual interfaces, or a process that passes each packet on after a delay.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import smp
from smp._runtime.mpi.jobs import mpiexec

from .nodes import NETWORK

RELAY = Path(__file__).with_name("relay.py")
NUMBERS = itertools.count()
LAUNCH = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
node=$1; shift
setsid ip netns exec "$node" unshare --uts --pid --fork sh -c "
    hostname $node; mount -t proc proc /proc; mount --bind {folder}/$node /dev/shm; exec $*" &
wait
"""


def missing() -> str:
    """Return the reason why the network cannot be built here; an empty text if it can."""
    if os.geteuid():
        return "only root can make network namespaces"
    absent = [word for word in ("ip", "unshare", "setsid", "mount") if shutil.which(word) is None]
    if absent:
        return f"this computer lacks the command {absent[0]}"
    if subprocess.run(["unshare", "--net", "--uts", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "this computer does not let us make namespaces"
    return "" if os.path.exists("/dev/net/tun") else "this computer lacks virtual network interfaces"


def command(*words: object) -> str:
    """Run a command; return what it prints."""
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


class Computers:
    """The network; `close` removes it.

    Parameters
    ----------
    folder : Path
        Empty folder for the launcher's script and the nodes' shared memory.
    delay : float
        Seconds that a packet takes between a node and the bridge.
    """

    def __init__(self, folder: Path, delay: float = 0.0) -> None:
        number = os.getpid() * 4 + next(NUMBERS)
        name = f"sm{number:x}"
        self.bridge, self.nodes, self._folder = f"{name}b", [f"{name}-node1", f"{name}-node2"], folder
        self.links = [f"{name}l1", f"{name}l2"]
        self._relays: list[subprocess.Popen[bytes]] = []
        net = f"10.213.{number % 256}"
        self._addresses = [f"{net}.{k + 11}" for k in range(2)]
        hosts = "127.0.0.1 localhost\n" + "".join(
            f"{ip} {node}\n" for ip, node in zip(self._addresses, self.nodes, strict=True)
        )
        try:
            command("ip", "link", "add", self.bridge, "type", "bridge")
            command("ip", "address", "add", f"{net}.1/24", "dev", self.bridge)
            command("ip", "link", "set", self.bridge, "up")
            for k in range(2):
                self._add(k, f"{self._addresses[k]}/24", hosts, delay)
        except BaseException:
            self.close()
            raise
        self._script = folder / "launch"
        self._script.write_text(LAUNCH.format(folder=folder))
        self._script.chmod(0o755)

    def _add(self, number: int, address: str, hosts: str, delay: float) -> None:
        node, link = self.nodes[number], self.links[number]
        self._memory(node).mkdir()
        self._etc(node).mkdir(parents=True)
        (self._etc(node) / "hosts").write_text(hosts)
        command("ip", "netns", "add", node)
        if delay:
            self._relays.append(subprocess.Popen([sys.executable, str(RELAY), link, link + "x", str(delay)]))
            _until(lambda: Path(f"/sys/class/net/{link}x").exists())
            command("ip", "link", "set", link + "x", "netns", node, "name", "eth0")
        else:
            command("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", node)
        command("ip", "link", "set", link, "master", self.bridge, "up")
        command("ip", "-n", node, "link", "set", "lo", "up")
        command("ip", "-n", node, "address", "add", address, "dev", "eth0")
        command("ip", "-n", node, "link", "set", "eth0", "up")

    def _memory(self, node: str) -> Path:
        return self._folder / node

    def _etc(self, node: str) -> Path:
        return Path("/etc/netns") / node

    def words(self, network: list[str] = NETWORK, nodes: int = 2) -> list[str]:
        """Return the launcher that starts two ranks on each node, or on the first one only."""
        hosts = ",".join(f"{node}:2" for node in self.nodes[:nodes])
        over = ["-launcher", "ssh", "-launcher-exec", str(self._script), "-iface", self.bridge]
        return [mpiexec(), *over, "-hosts", hosts, *network]

    def opened(self, network: list[str] = NETWORK, patience: float = 30.0) -> smp.Machine:
        """Open a machine with two processors on each node."""
        return smp.mpi(4, launcher=self.words(network), patience=patience)

    def crossed(self) -> list[int]:
        """Return the bytes that have come from each node."""
        return [int(Path(f"/sys/class/net/{link}/statistics/rx_bytes").read_text()) for link in self.links]

    def processes(self, node: int) -> list[int]:
        """Return the processes on a node, by the numbers that they have outside."""
        return [int(word) for word in command("ip", "netns", "pids", self.nodes[node]).split()]

    def left(self, seconds: float) -> list[str]:
        """Wait until the nodes have neither processes nor files; return what is left after the given time."""
        deadline = time.monotonic() + seconds
        while (found := self._left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _left(self) -> list[str]:
        files = [file.name for node in self.nodes for file in self._memory(node).iterdir()]
        return files + [str(pid) for k in range(2) for pid in self.processes(k)]

    def connected(self, number: int, up: bool) -> None:
        """Cut the link of a node, or mend it."""
        command("ip", "link", "set", self.links[number], "up" if up else "down")
        state = Path(f"/sys/class/net/{self.links[number]}/operstate")
        _until(lambda: (state.read_text().strip() == "up") == up)

    def between(self, up: bool) -> None:
        """Let no packet pass from the first node to the second, or let them pass again; the parent reaches both."""
        command("ip", "-n", self.nodes[0], "route", "delete" if up else "add", "blackhole", f"{self._addresses[1]}/32")

    def close(self) -> None:
        """End what runs on the nodes, and remove the network."""
        for relay in self._relays:
            relay.kill()
            relay.wait()
        for number, node in enumerate(self.nodes):
            with contextlib.suppress(subprocess.CalledProcessError):
                for pid in self.processes(number):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, 9)
                command("ip", "netns", "delete", node)
            shutil.rmtree(self._etc(node), ignore_errors=True)
        for link in (*self.links, self.bridge):
            with contextlib.suppress(subprocess.CalledProcessError):  # the link of a namespace ends with it
                command("ip", "link", "delete", link)


@contextlib.contextmanager
def computers(folder: Path, delay: float = 0.0) -> Iterator[Computers]:
    """Build the network, and remove it at the end."""
    with contextlib.closing(Computers(folder, delay)) as built:
        yield built


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10.0
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError("an interface did not appear")
        time.sleep(0.01)
