"""Compare machines of one processor that run side by side, pinned and not pinned, on as many or fewer CPUs.

    python benchmarks/sharing.py [--machines 4] [--rounds 15] [--seconds 0.5]

Each machine is opened by a process of its own, and all do the same work at the same time.  A burst ends when the last
has ended.  Machines that are pinned by default, and claim CPUs, take turns with as many machines under SMP_PIN=0.  The
ratio is the median over the pairs of neighbouring bursts, given with its quartiles.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time

import numpy as np
from bursts import quartiles

import smp
from smp._computer.limits import usable_cpus

TARGET = 1.2


def work(proc: smp.Processor, steps: int) -> tuple[int, list[int]]:
    """Count to ``steps``, and return the CPUs that the processor may use."""
    count = 0
    for _ in range(steps):
        count += 1
    return count, sorted(os.sched_getaffinity(0))


def serve() -> None:
    """Open a machine, and have it do the work whenever a line with a number of steps arrives."""
    with smp.host(1) as machine:
        print(len(machine.run(work, 1).results[0][1]), flush=True)
        for line in sys.stdin:
            machine.run(work, int(line))
            print("done", flush=True)


def started(count: int, pin: str) -> list[subprocess.Popen[str]]:
    """Return processes that have opened a machine each, one after the other."""
    processes = []
    for _ in range(count):
        command, environment, pipe = (
            [sys.executable, __file__, "--serve"],
            {**os.environ, "SMP_PIN": pin},
            subprocess.PIPE,
        )
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        processes.append(process)
        may_use = answer(process)
        print(f"SMP_PIN={pin}: a machine of 1 processor, which may use {may_use} CPU{'s' * (may_use != '1')}")
    return processes


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def burst(processes: list[subprocess.Popen[str]], steps: int) -> float:
    """Return the seconds in which all machines have done the work."""
    begun = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{steps}\n")
        process.stdin.flush()
    for process in processes:
        assert answer(process) == "done"
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.5, help="work of one machine that has a CPU alone")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    sides = [started(options.machines, pin) for pin in ("1", "0")]
    begun = time.thread_time()
    for _ in range(1_000_000):
        pass
    steps = int(options.seconds / (time.thread_time() - begun) * 1e6)
    times = np.array([[burst(side, steps) for side in sides] for _ in range(options.rounds)])
    for process in itertools.chain(*sides):
        process.communicate()
    low, middle, high = quartiles(times[:, 0] / times[:, 1])
    title = f"{options.machines} machines on {len(usable_cpus())} CPUs, pinned / not pinned"
    print(f"{title}, {options.rounds} pairs of bursts")
    print(f"{'1st':>8}{'median':>8}{'3rd':>8}{'target':>9}{'pinned, s':>11}{'not, s':>8}")
    seconds = np.median(times, axis=0)
    print(f"{low:>8.2f}{middle:>8.2f}{high:>8.2f}{f'<= {TARGET}':>9}{seconds[0]:>11.2f}{seconds[1]:>8.2f}")


if __name__ == "__main__":
    main()
