"""Compiled loops for the tests' programs, in a module that workers import quickly."""

import smp
from smp.compiled import barrier, compare_exchange, exchange, fetch_add, load, pause, store, wait, wake


@smp.stream
def tickets(counter, mine):
    for k in range(len(mine)):
        mine[k] = fetch_add(counter, 0, 1)


@smp.stream
def locked(lock, total, rounds):
    for _ in range(rounds):
        while compare_exchange(lock, 0, 0, 1) != 0:
            pause()
        total[0] = total[0] + 1  # a plain addition: exact only under the lock
        store(lock, 0, 0)


@smp.stream
def swapped(slot, mine):
    for k in range(len(mine)):
        mine[k] = exchange(slot, 0, mine[k])


@smp.stream
def rounds_entered(entered, sync, rank, size, first, rounds, jitter):
    """Enter barrier after barrier; return how often one let go before all had entered it."""
    early = 0
    state = rank + 1
    for k in range(first, first + rounds):
        if jitter > 0:
            state = (state * 1103515245 + 12345) % 2147483648
            for _ in range(state % jitter):
                pause()
        store(entered, 8 * rank, k + 1)
        barrier(sync)
        for other in range(size):
            if load(entered, 8 * other) < k + 1:
                early += 1
    return early


@smp.stream
def ping_pong(words, rank, rounds, sync):
    """Two processors take turns at one word, blocked in between."""
    for k in range(rounds):
        if k % 2 == rank:
            store(words, 0, k + 1)
            wake(words, 0, 1)
        else:
            while load(words, 0) == k:
                wait(words, 0, k, sync)
    return load(words, 0)


def early(
    proc: smp.Processor, entered: smp.GlobalArray, compiled: int, python: int, turns: int, jitter: int = 0
) -> int:
    """Take ``turns`` of so many rounds in compiled code, then in Python; return how often one let go too early."""
    words, count, k = entered.view, 0, 0
    for _ in range(turns):
        count += rounds_entered(words, proc.sync, proc.rank, proc.size, k, compiled, jitter)
        k += compiled
        for _ in range(python):
            words[8 * proc.rank] = k + 1
            proc.barrier()
            count += int((words[::8] < k + 1).sum())
            k += 1
    return count
