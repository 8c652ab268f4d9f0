"""Run every schedule of a small program on the emulated machine, and repeat the one that fails."""

import smp
from smp.compiled import fetch_add, load, store


def careless(proc, counter):
    store(counter.view, 0, load(counter.view, 0) + 1)  # the other processor may store in between


def careful(proc, counter):
    fetch_add(counter.view, 0, 1)


def both_counted(run, counter):
    assert counter.view[0] == 2, f"counted {counter.view[0]} of 2"


def fresh(machine):
    return machine.zeros(1, int)


right = smp.explore(careful, 2, setup=fresh, check=both_counted)
print(right.schedules, "schedules, all of them:", right.complete, "failure:", right.failure)

wrong = smp.explore(careless, 2, setup=fresh, check=both_counted)
print("after", wrong.failure.preemptions, "preemption:", wrong.failure.error)
for processor, _stream, operation, _where in wrong.failure.operations:
    print(f"    processor {processor}  {operation}")

try:
    smp.replay(wrong, careless, 2, setup=fresh, check=both_counted)
except AssertionError as error:
    print("again:", error)
