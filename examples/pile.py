"""Work on a pile of uneven tasks: processor 0 hands them out, all draw their numbers from a cell, or shares are fixed.

Task k is to find the largest prime factor of the number first + k.
"""

import numpy as np

import smp


def by_requests(proc, first, tasks):
    """Ask processor 0 for one task after the other; it works as well, and polls meanwhile, so that it answers soon."""
    pile, given, done = iter(range(tasks)), [], {}
    give = proc.handler(lambda message, task: given.append(task))
    ask = proc.handler(lambda message: message.reply(give, next(pile, -1)), replies=True)
    proc.request(0, ask)
    while True:
        proc.wait_until(lambda: given)
        if (task := given.pop()) < 0:
            break
        proc.request(0, ask)  # for the next task, which may come while this processor works
        done[task] = largest_factor(first + task, meanwhile=proc.poll)
    proc.quiet()  # processor 0 answers until all have found the pile empty
    return done


def by_cell(proc, first, tasks, cell):
    """Draw the next task from a cell that all processors share."""
    done = {}
    while (task := cell.fetch_add(0, 1)) < tasks:
        done[task] = largest_factor(first + task)
    return done


def by_superstep(proc, first, tasks):
    """Work on a fixed share of the tasks."""
    with proc.superstep("share") as step:
        step.compute()
        return {task: largest_factor(first + task) for task in range(tasks)[proc.block(tasks)]}


def largest_factor(n, meanwhile=lambda: None):
    factor, largest = 2, 1
    while factor * factor <= n:
        while n % factor == 0:
            n, largest = n // factor, factor
        factor += 1
        if factor % 1000 == 0:
            meanwhile()
    return max(n, largest)


def program(proc, first, tasks, cell):
    return by_requests(proc, first, tasks), by_cell(proc, first, tasks, cell), by_superstep(proc, first, tasks)


if __name__ == "__main__":
    tasks = 3_000
    expected = np.zeros(2 + tasks, int)
    for n in range(2, len(expected)):
        if expected[n] == 0:  # no smaller prime divides n
            expected[n::n] = n
    with smp.host(2) as machine:
        results = machine.run(program, 2, tasks, machine.cells(1, full=True)).results
    for form, (one, other) in zip(("requests", "cell", "superstep"), zip(*results, strict=True), strict=True):
        found = [(one | other)[task] for task in range(tasks)]
        once = len(one) + len(other) == tasks
        print(f"by {form:<10} each task once: {once}, as NumPy finds them: {found == expected[2:].tolist()}")
