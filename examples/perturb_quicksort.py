"""Tune a parallel quicksort by perturbation: screen, improve, screen again (NISTIR 5131, section 3.1).

python perturb_quicksort.py           on an emulated Sequent Balance of 16 processors: the same figures each time
python perturb_quicksort.py --host    on two processors of this computer: half a minute, and noise
"""

import sys
from functools import partial

import numpy as np

import smp
from smp._output.numbers import time
from smp.kernels.sorting.quick import sort_quick
from smp.perturb import screen
from smp.perturb.analysis.table import effects_table, trials_table
from smp.perturb.analysis.versions import compare, comparison_table
from smp.perturb.experiments.runners import runner_of

PLACES = ["s_lock", "push", "pop", "swap", "bubble_sort", "code1"]
LISTS = 24  # number of lists on which both versions are timed without delays
improved = partial(sort_quick, inline_swap=True)


def fresh(keys, seed):
    """Return a function that puts the keys into another random order before each run."""
    rng = np.random.default_rng(seed)

    def arguments():
        keys[:] = rng.permutation(len(keys))
        return (keys,)

    return arguments


def print_steps(trials):
    """Print the next step for each place, with one line for all places that may be dropped."""
    print("What next?")
    steps = trials.next_steps()
    for step in steps:
        if step.action != "drop":
            print(f"  {step.action} {step.factor}: {step.reason}")
    if dropped := [step.factor for step in steps if step.action == "drop"]:
        print(f"  drop {', '.join(dropped)}: they would save less than 5% of the time if they took none")
    if all(step.action != "split" for step in steps):
        print("  no part stands out: time to stop, or to think of another algorithm")


def tune(machine, n, delay):
    keys = machine.zeros(n, np.int64)

    def screened(program, design, factors, seed):
        return screen(
            program, design, treatment=delay, factors=factors, arguments=fresh(keys, seed), machine=machine, seed=seed
        )

    def undelayed(program):
        runner = runner_of(program, fresh(keys, seed=0), machine)  # the same lists for both versions
        return np.array([runner.trial({}).time for _ in range(LISTS)])

    print(f"Quicksort of {n:,} keys on {machine.size} processors: which part should be made faster?\n")
    trials = screened(sort_quick, "2^(6-2)", PLACES, seed=1)
    before = trials.analyse()
    print("Table 1. How often is each part called? This does not show what the time depends on.")
    print(" ", ", ".join(f"{place} {trials.met[place].passes:,}" for place in PLACES))
    print()
    print(f"Table 2. How much longer does the sort take when a part is delayed by {delay} per call?")
    print(trials_table(before))
    print_steps(trials)
    print()

    old, new = undelayed(sort_quick), undelayed(improved)
    gain, uncertainty = 1 - new.mean() / old.mean(), (old - new).std(ddof=1) / LISTS**0.5 / old.mean()
    print("Improve swap: code its exchanges into the loops that call it.")
    print(f"  {time(old.mean())} before, {time(new.mean())} after, without delays: means of {LISTS} lists")
    print(f"  {gain:.0%} less, with a standard uncertainty of {uncertainty:.0%}")
    print()

    after = screened(improved, "2^(5-1)", [place for place in PLACES if place != "swap"], seed=2)
    print("Table 2-B. What now? The improved version with the same delays, but none at swap.")
    print(effects_table(after.analyse()))
    print_steps(after)
    print()

    print("Table 2-C. Main effects before and after, in per cent of the time without delays.")
    print(comparison_table(compare(before, after.analyse(), (old.mean(), new.mean()))))


if "--host" in sys.argv:
    with smp.host(2) as machine:
        tune(machine, 400_000, "200ns")
else:
    # All places have the same delay. Other keys alone change the time by 1.3 ms, so an effect has an uncertainty of at
    # least 0.4 ms (48 runs). The rarest part, push, is called a dozen times in sequence: 0.3 ms for each is well above.
    with smp.emulated(machine="balance") as machine:
        tune(machine, 1_000, "300us")
