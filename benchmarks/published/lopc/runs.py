"""Runs of the program of requests on emulated machines, and what the model says of the same requests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import smp
from smp._computer.limits import usable_cpus
from smp.kernels.messages.request_cycles import Cycles, model_machine, requests
from smp.machines import MachineFile
from smp.models.lopc import Estimate, all_to_all_pattern, client_server_pattern, general
from smp.models.lopc.setting import Setting, checked_setting

HZ = 1e9
BATCHES = 20
STEPS = 1_000_000_000
"""Most steps of a run."""
WARM_UP = 10
"""Part of the time of a run, at its beginning, whose cycles do not count: one in this number."""
FIDELITIES = ("latency", "contention")
"""The networks of emulated machines: wires without contention, and wires and queues that packets share."""


@dataclass(frozen=True)
class Case:
    """Requests on a machine, with times in cycles.

    Attributes
    ----------
    processors : int
    work, wire, handler : float
        W, S_l and S_o.
    variation : float
        C² of the handlers.
    hops : int
        Nodes that handle each request.
    servers : int
        Nodes that only serve the others; 0 if all send requests to all.
    apart : bool
        Whether handlers run beside the threads.
    cycles : int
        Cycles of all threads that count, about.
    machine : MachineFile or None
        None for the machine that the model describes.
    padding : int
        Further numbers in each message.
    slower : float
        Factor by which cycles are expected to take longer than the model says, so that about ``cycles`` of them count.
    fidelity : str
        One of `FIDELITIES`.
    """

    processors: int
    work: float
    wire: float
    handler: float
    variation: float
    hops: int = 1
    servers: int = 0
    apart: bool = False
    cycles: int = 3000
    machine: MachineFile | None = None
    padding: int = 0
    slower: float = 1.0
    fidelity: str = "latency"

    @property
    def setting(self) -> Setting:
        """The same for the model."""
        if self.servers:
            work, visits = client_server_pattern(self.work, self.processors, self.servers)
        else:
            work, visits = all_to_all_pattern(self.work, self.processors)
        return checked_setting(work, self.hops * visits, self.wire, self.handler, self.variation, self.apart)

    @property
    def file(self) -> MachineFile:
        """The machine file."""
        if self.machine is not None:
            return self.machine
        return smp.machines.load(model_machine(self.wire, hz=HZ, protocol_processor=self.apart))


@dataclass(frozen=True)
class Found:
    """The response time of a case, in cycles.

    Attributes
    ----------
    logp, lopc : float
        By the models.
    measured, reach : float
        On the machine: the mean time of work and handlers, and the mean of all that cycles take beyond what was drawn
        for them, with half of its 95% interval.
    cycles : int
        Number of cycles that count.
    """

    logp: float
    lopc: float
    measured: float
    reach: float
    cycles: int

    @property
    def error(self) -> float:
        """The relative error of the model."""
        return self.lopc / self.measured - 1.0

    @property
    def error_of_logp(self) -> float:
        """The relative error of LogP."""
        return self.logp / self.measured - 1.0

    @property
    def noise(self) -> float:
        """Half of the relative interval of the measured time."""
        return self.reach / self.measured


def found(case: Case) -> Found:
    """Run a case, and solve the model for it."""
    setting = case.setting
    args = (setting.work, setting.visits, setting.latency, setting.occupancy)
    model = general(*args, variation=setting.variation, protocol_processor=setting.protocol_processor)
    response = float(model.response[0])
    threads = len(setting.threads)
    until = case.slower * (1.0 + 1.0 / WARM_UP) * case.cycles / threads * response
    results = ran(case, until)
    busy = case.work + (case.hops + 1) * case.handler
    beyond = _beyond(results, until / WARM_UP, until, case.file.clock.hz)
    estimate = Estimate.of(np.array([part.mean() for part in np.array_split(beyond, BATCHES)]))
    reach = (estimate.high - estimate.low) / 2.0
    return Found(float(setting.logp[0]), response, busy + float(beyond.mean()), reach, len(beyond))


def ran(case: Case, until: float) -> Sequence[Cycles]:
    """Run the program of a case for a number of cycles of the machine; return what its processors return."""
    file, setting = case.file, case.setting
    with smp.emulated(case.processors, machine=file, limit=STEPS, fidelity=case.fidelity) as machine:
        results: list[Cycles] = machine.run(requests, setting, until / file.clock.hz, 1.0, 0, case.padding).results
    return results


def _beyond(results: Sequence[Cycles], begin: float, end: float, hz: float) -> np.ndarray:
    """Return what the cycles between two times take beyond their work and handlers, in the order of their ends."""
    ended = np.concatenate([one.ended for one in results]) * hz
    took = np.concatenate([np.diff(one.ended, prepend=0.0) * hz - one.busy for one in results])
    order = np.argsort(ended, kind="stable")
    counted = order[(ended[order] > begin) & (ended[order] <= end)]
    return np.asarray(took[counted])


def all_found(cases: Sequence[Case], what: str) -> list[Found]:
    """Return the results of cases in their order, from as many processes as there are CPUs."""
    with ProcessPoolExecutor(len(usable_cpus())) as pool:
        results = []
        for result in pool.map(found, cases, chunksize=1):
            results.append(result)
            print(f"\r{what}: {len(results)} of {len(cases)}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 60, end="\r", file=sys.stderr, flush=True)
    return results
