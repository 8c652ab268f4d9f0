"""The kinds of machines: `host`, `emulated` and `mpi` open one.  This is the only module that names the kinds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._computer.limits import usable_cpus
from ..errors import Unsupported
from .emulated.networks.kinds import Kind, checked_network
from .machine import Machine
from .program.processor import checked_number
from .program.records.repeats import checked_seed
from .source.lines import in_a_program

if TYPE_CHECKING:
    from .emulated.costs import Charges
    from .emulated.described import Described

MOST_EMULATED = 4096
"""Most processors of an emulated machine."""
FIDELITIES = ("contention", "latency")


def host(
    processors: int | None = None,
    streams: int = 1,
    *,
    start: str | None = None,
    pin: bool | Sequence[int] | None = None,
) -> Machine:
    """Open this computer as a shared-memory machine, with processes as its processors.

    Parameters
    ----------
    processors : int, optional
        Number of processors; by default one for each CPU that this process may use.  More than these take turns.
    streams : int
        Number of streams of each processor's team, ``proc.team``: how many of its threads run at once (see `smp.Pool`).
    start : {"forkserver", "spawn", "fork"}, optional
        How the worker processes are started.  ``forkserver``, the default, forks them from a fresh process that has
        imported the modules that they need.  It is safe with threads and takes about 20 ms for each machine after the
        first.  ``spawn`` starts a fresh interpreter for each worker.  ``fork`` copies this process as it is, with its
        modules, which is unsafe while other threads run.
    pin : bool or sequence of int, optional
        Whether each processor stays on a CPU of its own; by default if enough are free, that is, not claimed by other
        open machines of this user, and ``SMP_PIN`` is not 0.  True shares CPUs if too few are free.  A sequence names
        the CPUs.

    Returns
    -------
    Machine
        The open machine.  Use it in a ``with`` block, or close it.

    Raises
    ------
    TypeError, ValueError, MachineError
        If a number of processors or streams is not valid, or if the processors do not start.

    Examples
    --------
    >>> import smp
    >>> with smp.host(2) as machine:
    ...     machine.run(lambda proc: (proc.rank, proc.size)).results
    [(0, 2), (1, 2)]
    """
    cpus = usable_cpus()
    size = len(cpus) if processors is None else checked_number("processors", processors)
    team = checked_number("streams", streams)
    from .host.pinning import pinned
    from .host.processes import WorkerProcesses
    from .host.workers import Workers

    method = "forkserver" if start is None else start
    return Machine(Workers("host", size, lambda: WorkerProcesses(method), lambda: pinned(size, cpus, pin)), team)


def mpi(
    processors: int | None = None,
    streams: int = 1,
    *,
    hosts: str | None = None,
    launcher: Sequence[str] | None = None,
    pin: bool | Sequence[int] | None = None,
    patience: float = 30.0,
) -> Machine:
    """Open a machine whose processors are ranks of MPI, on one computer or on several.

    On one node, all is as for `host`.  On several nodes, supersteps, collectives, messages and cells from Python work,
    and what needs memory that all processors share raises `Unsupported` (``docs/mpi.md``).

    In a script or notebook, the call starts the ranks with ``mpiexec``.  In a script that a launcher runs
    (``mpiexec -n 4 python program.py``), rank 0 goes on with the script and is the parent of the machine.  The other
    ranks stay in their first call of this function: they serve all machines that the script opens, one after another,
    and end when it ends.  What stands before that call runs on every rank; ``mpiexec -n 4 python -m smp program.py``
    runs the whole script on rank 0 only.

    Parameters
    ----------
    processors : int, optional
        Number of processors; by default one for each CPU that this process may use.  In a job of a launcher it is the
        number of ranks.
    streams : int
        Number of streams of each processor's team, as for `host`.
    hosts : str, optional
        Computers, each with its number of ranks, for the launcher: "a:8,b:8".
    launcher : sequence of str, optional
        Words that take the place of ``mpiexec``, such as ``["srun"]``.
    pin : bool or sequence of int, optional
        As for `host`; on several nodes, the processors are pinned only if it is given.
    patience : float
        Seconds for which the network to another computer may be silent before it counts as lost, at least 3.

    Returns
    -------
    Machine
        The open machine.  Use it in a ``with`` block, or close it.

    Raises
    ------
    TypeError, ValueError
        If a number of processors or streams is not valid, or is not the number of ranks of the launcher's job, or if
        the patience is not valid.
    MachineError
        If MPI is not installed, or the ranks do not come up.
    Unsupported
        In a program, on a processor.

    Notes
    -----
    It takes about a second to open.  If the process of a rank dies, MPI ends the others: the run then ends with
    `ProcessorDied`, and the machine is closed.  In a script that a launcher runs, the launcher ends the script as well.

    Examples
    --------
    A job of two ranks, with MPI installed (``pip install 'smp-runtime[mpi]'``)::

        with smp.mpi(2) as machine:
            print(machine.run(lambda proc: proc.reduce(proc.rank)).results)
    """
    if in_a_program(sys._getframe(1)):
        raise Unsupported("smp.mpi() was called by a program, on a processor: open smp.host() there")
    from .mpi.jobs import job_command, place_in_job
    from .mpi.opening import opened
    from .nodes.heartbeat import checked_patience

    seconds = checked_patience(patience)
    job, team = place_in_job(), checked_number("streams", streams)
    by_default = len(usable_cpus()) if job is None else job.size
    size = by_default if processors is None else checked_number("processors", processors)
    if job is not None and size != job.size:
        raise ValueError(f"smp.mpi({size}) in a job of {job.size} ranks: leave the number out, or start {size} ranks")
    command = [] if job is not None else job_command(size, hosts, launcher)
    return Machine(opened(size, job, command, hosts is not None or launcher is not None, pin, seconds), team)


def emulated(
    processors: int | None = None,
    streams: int = 1,
    *,
    machine: Described | None = None,
    fidelity: str = "contention",
    seed: int = 0,
    schedule: str | Sequence[int] | None = None,
    trace: bool = False,
    limit: int | None = None,
    charges: Charges | None = None,
    network: Kind | None = None,
) -> Machine:
    """Open a machine whose processors take turns in this process, one step at a time, in virtual time.

    Programs, arrays, supersteps, collectives, results and errors are the same as on the host.  A step is one
    primitive (a load, a store, ...) on shared words.  Barriers, cells and `smp.stream` loops are interpreted from the
    same source that is compiled on the host, or run as machine code that makes the same steps.  The same schedule
    therefore always gives the same run, step by step.

    Parameters
    ----------
    processors : int, optional
        Number of processors; by default that of the machine file.
    streams : int
        Number of streams of each processor's team, as for `host`.
    machine : str, path_like, mapping, MachineFile, Profile or ThisComputer, optional
        Machine that is emulated: the name of one that comes with smp, such as ``"cm5"``, or a machine file, as
        `smp.machines.load` takes it.  A profile of this computer, or its path ending in ``.json``, is the machine
        `smp.profiles.ThisComputer`, with any number of processors.  These machines have charges and a network of their
        own.  By default the machine is that of ``charges`` and ``network``.
    fidelity : {"contention", "latency"}
        Whether messages meet in the network of a machine from a file, and wait for each other in its links and queues,
        or each takes the time that it has alone.  The latter takes less time to emulate.
    seed : int
        Seed of the random schedule, and of ``proc.random``.  The same seed gives the same run.
    schedule : {"seeded", "clock"} or sequence of int, optional
        Rule that chooses the stream of the next step.  ``seeded`` draws it at random.  ``clock`` takes the
        earliest stream in virtual time; use it for timings.  A sequence lists the choices (see `smp.explore`).  By
        default ``clock`` if a machine is named, and otherwise ``seeded``.
    trace : bool
        Whether runs keep their steps, for ``machine.trace``.
    limit : int, optional
        Number of steps after which a run ends with `LivelockError`; by default 10 million.
    charges : Charges, optional
        Costs of primitives and copies, in ns of virtual time; by default the table of ``emulated.costs``.
    network : network, optional
        Network that carries the messages, one of `smp.networks`; by default ``ideal()``, which takes no time.  A
        network that takes time needs ``schedule="clock"``.

    Returns
    -------
    Machine
        The open machine.  Use it in a ``with`` block, or close it.  Only one thread at a time may use it.  Its
        processors share this process, so the objects in an importable module are the same for all of them.

    Raises
    ------
    TypeError, ValueError
        If a number of processors or streams, the schedule or another option is not valid.

    Notes
    -----
    Each stream has a clock of its own in virtual nanoseconds.  ``charges`` gives the cost of each primitive and of
    each byte.  A stream that is woken is at least as late as the stream that wakes it.  ``run.steps`` and
    `smp.compiled.clock` report virtual time.  Only under ``schedule="clock"`` do the clocks agree about the order of
    events.  Plain Python code, with its reads and writes of shared memory, belongs to the step before it, and costs
    nothing.  Primitives return NumPy's numbers, which wrap around as those of compiled loops do.  Under the clock, a
    loop is machine code, unless it calls an `smp.local` loop, gets ``proc.net``, or the run is traced.
    When every stream waits and none has a deadline, the run ends with `DeadlockError`.

    Examples
    --------
    >>> import smp
    >>> with smp.emulated(3, seed=7) as machine:
    ...     machine.run(lambda proc, x: proc.reduce(x * proc.rank), 21).results
    [63, 63, 63]
    """
    from .emulated.costs import Charges
    from .emulated.described import description_of
    from .emulated.processors import EmulatedProcessors, checked_limit
    from .emulated.schedules import scheduler

    if fidelity not in FIDELITIES:
        raise ValueError(f"fidelity must be one of {', '.join(map(repr, FIDELITIES))}, not {fidelity!r}")
    described = None if machine is None else description_of(machine)
    if processors is None and described is None:
        raise TypeError("smp.emulated needs a number of processors, or a machine: smp.emulated(4)")
    number = described.processors if described and processors is None else processors
    size = checked_number("processors", number, MOST_EMULATED)
    team = checked_number("streams", streams)
    if schedule is None:
        schedule = "seeded" if described is None else "clock"
    rule, by_clock = scheduler(schedule, seed), isinstance(schedule, str) and schedule == "clock"
    if described is None:
        if charges is not None and not isinstance(charges, Charges):
            raise TypeError(f"charges must be an object of the class Charges, not {charges!r}")
        table = Charges() if charges is None else charges
        parts = table.parts(checked_network(network, by_clock))
    elif charges is not None or network is not None:
        raise ValueError(
            f"the machine {described.name!r} has charges and a network of its own: leave charges= and network= out, or "
            'change the machine, as in smp.machines.load("cm5").replace("message.receive", 40)'
        )
    else:
        parts = described.parts(size, fidelity)
        if (parts.timed or parts.network.timed) and not by_clock:
            raise ValueError(
                f'the machine {described.name!r} needs schedule="clock", because its processors must agree about the '
                "order of events in virtual time"
            )
    made = EmulatedProcessors(size, rule, checked_limit(limit), trace, parts)
    return Machine(made, team, checked_seed(seed))
