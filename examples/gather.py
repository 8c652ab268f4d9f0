"""Read a table that lies in parts on the processors, at random places: by requests and replies, and in a superstep."""

import numpy as np

import smp


def by_requests(proc, part, width, places):
    """Ask the owners for one value after the other; `part` is this processor's part of the table, `width` values."""
    values, missing = np.empty(len(places)), len(places)

    def arrive(message, number, value):
        nonlocal missing
        values[number] = value
        missing -= 1

    def look_up(message, number, place):
        message.reply(arrived, number, part.item(place))  # a number of Python

    arrived = proc.handler(arrive)
    looked_up = proc.handler(look_up, replies=True)
    for number, place in enumerate(places.tolist()):
        owner, rest = divmod(place, width)
        proc.request(owner, looked_up, number, rest)
    proc.wait_until(lambda: missing == 0)
    proc.quiet()  # this processor answers the others until all have their values
    return values


def by_superstep(proc, table, places):
    """Copy the values out of a global array."""
    with proc.superstep("gather") as step:
        return step.copy_in(table, places)


def program(proc, table, places):
    mine, width = places[proc.rank], -(-len(table) // proc.size)
    with proc.superstep("load") as step:
        part = step.copy_in(table, slice(proc.rank * width, (proc.rank + 1) * width))
    return by_requests(proc, part, width, mine), by_superstep(proc, table, mine)


if __name__ == "__main__":
    draw = np.random.default_rng(0)
    table, places = draw.random(10_000), draw.integers(0, 10_000, (2, 3_000))
    with smp.host(2) as machine:
        results = machine.run(program, machine.array(table), places).results
    for rank, (asked, copied) in enumerate(results):
        expected = table[places[rank]]
        print(f"processor {rank}: {len(asked):,} values;", end=" ")
        print(f"right by requests: {(asked == expected).all()}, in a superstep: {(copied == expected).all()}")
