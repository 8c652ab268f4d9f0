"""Example 2 of synthetic-perturbation tuning: a ring of 16 nodes, which delays make about twice as fast.

Each node receives a message, computes (mostly {code A}), waits for permission from the next node, and sends on (see
smp.kernels.messages.ring for the figure).  The machine is an emulated iPSC-1: its time is virtual, and the same in
every run.  A message to a busy node fails, and has to be sent again after a time-out.  Each run begins with other
tokens, which depend on a seed, so that replications differ.
"""

import itertools

import numpy as np

import smp
from smp.compiled import clock
from smp.kernels.messages.ring import pass_tokens
from smp.perturb import confirm, screen
from smp.perturb.analysis.advice import steps_table

UNIT, SECONDS = 500, 2e-6  # of work and of time: a delay of X units is as long as X loops of {code A}
RECEIVES = "F1,F2,F3,F4,F5,F6"  # before and after the three receives


def computing(proc, seed, load=400):  # light communication, heavy computation
    return pass_tokens(proc, 6, load=load, words=4, seed=seed)


def communicating(proc, seed):  # the other way round
    return pass_tokens(proc, 8, load=10, words=64, seed=seed)


def seconds(proc, seed, load):
    began = clock()
    computing(proc, seed, load)
    return (clock() - began) * 1e-9


def seeds(first):
    numbers = itertools.count(first)
    return lambda: (next(numbers),)


def show_failures(trials, which):
    attempts, failures = (trials.responses(name).mean(axis=0) for name in ("attempts", "failures"))
    for name, trial in which.items():
        print(f"  {name}: {attempts[trial]:.0f} transmissions, of which {failures[trial]:.0f} fail")
    print()


with smp.emulated(machine="ipsc1") as machine:
    print("1. What is the ring sensitive to?  Light communication, heavy computation; eight places (as table 3)")
    options = {"machine": machine, "arguments": seeds(0), "replicates": 2}
    trials = screen(computing, "2^(8-4)", factors="abcdefgh", treatment="work:200", **options)
    print(trials.analyse())
    print(steps_table(trials.next_steps()))
    pairs = [[max(machine.run(seconds, seed, load).results) for load in (400, 440)] for seed in range(32)]
    plain, longer = np.transpose(pairs)
    more, error = longer.mean() / plain.mean() - 1, (longer - plain).std(ddof=1) / len(plain) ** 0.5 / plain.mean()
    print("So it is {code A}.  A direct check, with the program's own parameter:")
    print(f"  10% more of it takes {more:.1%} more time (+/- {error:.1%})")
    print("But there is more to learn:")
    show_failures(trials, {"no delays": 0})

    print("2. Heavy communication, light computation: delays of 10 units around the receives")
    options = {"factors": RECEIVES, "machine": machine, "arguments": seeds(1_000)}
    trials = screen(communicating, "2^(6-2)", treatment=f"work:{10 * UNIT}", **options)
    print(trials.analyse())
    print(steps_table(trials.next_steps()))
    found = trials.search()
    print(f"The best of the 16 trials takes {1 - 1 / found.speedup:.0%} less time than the one without delays.  Why?")
    show_failures(trials, {"no delays": 0, "the best": found.best})

    print("3. So search: five levels of each delay, 0 to 28 units, in 25 trials (as table 4)")
    ladder = [None, *(f"work:{units * UNIT}" for units in (7, 14, 21, 28))]
    trials = screen(communicating, "OA25(5^6)", treatment=ladder, replicates=2, **options)
    found = trials.search()
    print(found.table(unit=SECONDS))
    show_failures(trials, {"no delays": 0, "the best": found.best})
    print("The means of the levels, in ms, do not lie on lines, so effects of two levels would mislead:")
    for factor, means in found.level_means().items():
        print(f"  {factor}  " + "  ".join(f"{1e3 * mean:.2f}" for mean in means.values()))
    print()

    print("4. The best of 25 looks better than it is: run it again, with other seeds, next to the ring without delays")
    again = confirm(trials, communicating, machine=machine, arguments=seeds(2_000), replicates=8)
    found = again.search()
    print(found.table(unit=SECONDS))
    print(f"{found.speedup:.2f} times as fast; significant: {'yes' if found.significant else 'no'}")
    show_failures(again, {"no delays": 0, "with delays": 1})
