"""Count keys whose counters lie on other processors: a message for each key, many keys in a message, and a superstep.

The counters are divided among the processors by blocks, and so are the keys.  A processor cannot change a counter of
another one, so each key goes to the processor that owns its counter.
"""

import numpy as np

import smp


def by_single_messages(proc, keys, width):
    """Send each key on its own; `width` is the number of counters of a processor."""
    counts = [0] * width

    def count(message, place):
        counts[place] += 1

    counter = proc.handler(count)
    for key in keys.tolist():
        owner, place = divmod(key, width)
        proc.send(owner, counter, place)
    proc.quiet()  # all processors have sent all their keys, and all have been counted
    return np.array(counts)


def by_long_messages(proc, keys, width, each=400):
    """Send up to 400 keys in a message: 1,600 bytes of the 2,048 that are possible."""
    counts = np.zeros(width, np.int64)
    counter = proc.handler(lambda message, places: np.add.at(counts, places, 1))
    for owner, places in enumerate(by_owner(proc, keys, width)):
        for first in range(0, len(places), each):
            proc.send(owner, counter, places[first : first + each])
    proc.quiet()
    return counts


def by_transpose(proc, keys, width):
    """Exchange all keys at once, and count afterwards."""
    parts = proc.transpose(by_owner(proc, keys, width))
    return np.bincount(np.concatenate(parts), minlength=width)


def by_owner(proc, keys, width):
    """Return, for each processor, the places of its counters that the keys name."""
    owners, places = np.divmod(keys, width)
    return [places[owners == owner].astype(np.int32) for owner in range(proc.size)]


FORMS = by_single_messages, by_long_messages, by_transpose


def program(proc, keys, width):
    mine = keys[proc.block(len(keys))]
    return [form(proc, mine, width) for form in FORMS]


if __name__ == "__main__":
    keys = np.random.default_rng(0).integers(0, 1000, 20_000)
    with smp.host(2) as machine:
        results = machine.run(program, keys, 500).results
    for form, parts in zip(FORMS, zip(*results, strict=True), strict=True):
        counts = np.concatenate(parts)
        print(f"{form.__name__:<18} {counts.sum():,} keys, as NumPy counts them: {(counts == np.bincount(keys)).all()}")
