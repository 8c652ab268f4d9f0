"""Write a compiled loop in which processors draw tickets with fetch_add and meet at the barrier."""

import numpy as np

import smp
from smp.compiled import barrier, fetch_add


@smp.stream
def draw(tickets, mine, sync):
    taken = 0
    while True:
        ticket = fetch_add(tickets, 0, 1)
        if ticket >= len(mine):
            barrier(sync)
            return taken
        mine[ticket] += 1
        taken += 1


def program(proc, tickets, drawn):
    return draw(tickets.view, drawn.view, proc.sync)


with smp.host(2) as machine:
    tickets = machine.zeros(1, np.int64)
    drawn = machine.zeros(100_000, np.int64)
    run = machine.run(program, tickets, drawn)

print("all drawn:", sum(run.results) == 100_000)
print("each once:", bool((drawn[:] == 1).all()))
