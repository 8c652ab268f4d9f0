"""Make a random permutation by throwing darts: with a request for each dart, or with all darts of a round at once.

The elements are divided among the processors by blocks, and so is a table with twice as many places.  Each processor
throws its elements at random places.  The processor that owns the place keeps an element if the place is free, and
replies whether it was.  Elements that have missed are thrown again.  The elements in the table, in the order of their
places, are the permutation.
"""

import numpy as np

import smp


def by_requests(proc, elements, width):
    """Throw one element after the other; `width` is the number of places of a processor."""
    table, missed = np.full(width, -1), elements.tolist()
    stuck = 0

    def note(message, element, hit):
        nonlocal stuck
        if hit:
            stuck += 1
        else:
            missed.append(element)

    def land(message, place, element):
        free = table[place] < 0
        if free:
            table[place] = element
        message.reply(noted, element, int(free))

    noted = proc.handler(note)
    landed = proc.handler(land, replies=True)
    while stuck < len(elements):
        if missed:
            owner, place = divmod(int(proc.random.integers(width * proc.size)), width)
            proc.request(owner, landed, place, missed.pop())
        else:
            proc.wait_until(lambda: missed or stuck == len(elements))
    proc.quiet()  # this processor answers the others until all elements are in the table
    return compacted(proc, table)


def by_transposes(proc, elements, width):
    """Throw all elements that have missed, let the owners decide, and send back those that have missed again."""
    table, missed = np.full(width, -1), elements
    while proc.any(len(missed) > 0):
        owners, places = np.divmod(proc.random.integers(width * proc.size, size=len(missed)), width)
        darts = np.stack((places, missed), axis=1)
        came = proc.transpose([darts[owners == owner] for owner in range(proc.size)])
        missed = np.concatenate(proc.transpose([landed(table, *some.T) for some in came]))
    return compacted(proc, table)


def landed(table, places, elements):
    """Put elements into the free ones of these places, and return the elements that have missed."""
    free = table[places] < 0
    table[places[free]] = elements[free]  # of several at one place, the last one stays
    return elements[table[places] != elements]


def compacted(proc, table):
    """Return this processor's part of the permutation, and the place at which it begins."""
    part = table[table >= 0]
    return int(proc.scan(len(part), exclusive=True)), part


FORMS = by_requests, by_transposes


def program(proc, n):
    elements = np.arange(n)[proc.block(n)]
    width = -(-2 * n // proc.size)
    return [form(proc, elements, width) for form in FORMS]


if __name__ == "__main__":
    n = 5_000
    with smp.host(2) as machine:
        results = machine.run(program, n).results
    for form, parts in zip(FORMS, zip(*results, strict=True), strict=True):
        permutation = np.full(n, -1)
        for first, part in parts:
            permutation[first : first + len(part)] = part
        each_once = (np.sort(permutation) == np.arange(n)).all()
        print(f"{form.__name__:<13} {n:,} elements, each of them once: {each_once}")
