"""A rank of MPI: it connects to the parent and is a worker of the machines that the parent opens, one after another.

    parent ──▶ rank    descriptors, then all messages of a worker up to ("close", None)      one machine, on one node
    parent ──▶ rank    no descriptors, and the same with messages of ``nodes.worker``        one machine, on several
    parent ◀── rank    Idle
    parent ──▶ rank    the end of the line: finalise MPI, and end with status 0

MPI starts the processes, and passes on the name of the parent's socket.  If the parent dies, its lines close.  A rank
that waits for messages then ends; one that runs a program is ended by a thread that watches the line.  The launcher
ends the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import socket
import sys
import threading
import traceback
from typing import Any, NoReturn

from smp._computer.processes import die_with

from ..host import worker
from ..host.pipe import Idle, Line
from ..nodes.heartbeat import PATIENCE
from ..nodes.layout import Nodes
from ..nodes.worker import NodesWorker
from .addresses import PARENT, Address, connected
from .jobs import place_in_job
from .mail import MPIMail
from .node_segment import shared_in
from .world import Hello

HIGH = 512
"""Lowest number of the descriptor of the line to the parent, if the limit on descriptors allows it."""


def main() -> NoReturn:
    """Run as a rank, in a process of its own."""
    die_with(os.getppid())
    worker.prepare_signals()
    try:
        Rank(_mpi()).serve()
    except BaseException as error:
        if isinstance(error, SystemExit):
            print(error, file=sys.stderr)
        elif not isinstance(error, EOFError | ConnectionError):  # the parent is not just gone
            traceback.print_exc()
        _leave()
    sys.exit(0)  # MPICH says goodbye to its launcher in a function that it has registered with the C library's exit


class Rank:
    """One rank.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    """

    def __init__(self, mpi: Any) -> None:
        self._mpi, self._serving = mpi, False
        parent = Address.of(mpi.COMM_WORLD.bcast(os.environ.get(PARENT), 0))
        of_node = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
        node = of_node.bcast(mpi.COMM_WORLD.rank)  # the lowest rank on it
        self._of_node = of_node
        _unlink_early(of_node)
        self._comm = mpi.COMM_WORLD.Split(0, node)  # the ranks of a node are neighbours
        try:
            connection = connected(parent, here=node == 0)
        except OSError as error:
            computer = socket.gethostname()
            sys.exit(f"rank {mpi.COMM_WORLD.rank} on {computer} cannot reach the parent: {error}")
        self._line = Line(_high(connection))
        self._line.give_up_after(PATIENCE)  # each machine sets its own
        comm, number = self._comm, mpi.COMM_WORLD.rank
        who = Hello(comm.rank, comm.size, number, node, os.getpid(), _library(mpi), _shared_files())
        self._line.send(who)
        self._mail: MPIMail | None = None  # once a machine of several nodes needs it
        threading.Thread(target=self._watch, name="smp parent", daemon=True).start()

    def serve(self) -> None:
        """Serve machines until the parent closes the line."""
        worker.prepare()
        while (fds := self._line.take_fds()) is not None:
            self._serving = True
            (worker.opened(self._line, fds) if fds else self._opened_on_nodes()).serve()
            self._serving = False
            self._line.send(Idle())
        if self._mail is not None:
            self._mail.close()
        self._comm.Free()
        self._of_node.Free()
        self._mpi.Finalize()

    def _opened_on_nodes(self) -> NodesWorker:
        """Return the processor, of a machine of several nodes, that this process now is."""
        spec = self._line.receive()
        sys.path[:] = spec["path"]
        worker.settle_outputs()
        with contextlib.suppress(OSError):
            os.chdir(spec["cwd"])
        if spec["pin"] is not None:
            os.sched_setaffinity(0, [spec["pin"]])
        if self._mail is None:
            self._mail = MPIMail(self._mpi, self._comm)  # all ranks do this together
        segment = shared_in(self._of_node)
        nodes, patience = Nodes(spec["nodes"]), spec["patience"]
        return NodesWorker(self._line, self._mail, nodes, segment, spec["key"], spec["spin"], patience)

    def _watch(self) -> None:
        """End this process when the line closes while a machine is open."""
        poll = select.poll()
        poll.register(self._line, select.POLLRDHUP)
        poll.poll()
        if self._serving:
            _leave()


def _leave() -> NoReturn:
    """End this process without finalising MPI, so that the launcher ends the others."""
    for file in _shared_files():
        with contextlib.suppress(OSError):
            os.unlink(file)
    worker.leave(1)


def _high(connection: socket.socket) -> socket.socket:
    """Return the connection with a descriptor of a high number.

    The kernel closes the descriptors of a process that ends from the highest one down, and the parent then sees the end
    of this line before the launcher sees that of its own, and kills the other ranks.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptor = fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, min(HIGH, limit // 2))
    connection.close()
    return socket.socket(fileno=descriptor)


def _library(mpi: Any) -> str:
    return str(mpi.Get_library_version()).splitlines()[0].strip("\0")


def _unlink_early(of_node: Any) -> None:
    """Remove the names of the files that MPICH shares on a node, which all its ranks have mapped now.

    Otherwise a file would stay when a rank dies, because the launcher kills the others at once, and the parent cannot
    remove files of other computers.
    """
    of_node.Barrier()
    for file in _shared_files() if of_node.rank == 0 else ():
        if os.path.basename(file).startswith("mpich_shm"):
            with contextlib.suppress(OSError):
                os.unlink(file)


def _shared_files() -> list[str]:
    """Return the files of shared memory that this process maps."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split(maxsplit=5)[-1].strip() for line in maps if " /dev/shm/" in line})


def _mpi() -> Any:
    """Initialise MPI and return its module; end this process if that cannot work."""
    import mpi4py

    mpi4py.rc.thread_level = "multiple"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        sys.exit(f"mpi4py cannot load a library of MPI: {error}")
    library = _library(MPI)
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        sys.exit(f"{library} does not let several threads of a rank call it (MPI_THREAD_MULTIPLE)")
    place = place_in_job()
    if place is not None and place.size != MPI.COMM_WORLD.size:
        sys.exit(
            f"the launcher has started {place.size} ranks, but for {library} they are {MPI.COMM_WORLD.size}: the "
            "launcher belongs to another library of MPI"
        )
    return MPI
