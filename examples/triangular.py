"""Solve x[i] + lower[i] @ x = b[i], with a sparse triangle: by messages as unknowns become known, or level by level."""

import numpy as np
from scipy import sparse

import smp


def by_messages(proc, parts, b):
    """Send each unknown to the processors that need it; `parts` has the rows of each processor, stored by columns."""
    part, x = parts[proc.rank], b[proc.rank :: proc.size].copy()
    missing = np.bincount(part.indices, minlength=len(x))  # the unknowns that each row still needs
    ready = np.flatnonzero(missing == 0).tolist()

    def use(message, column, solution):
        entries = slice(*part.indptr[column : column + 2])
        rows = part.indices[entries]
        x[rows] -= part.data[entries] * solution
        missing[rows] -= 1
        ready.extend(rows[missing[rows] == 0].tolist())

    known = proc.handler(use)
    for _ in range(len(x)):
        proc.wait_until(lambda: ready)
        row = ready.pop()
        column = row * proc.size + proc.rank
        for processor, other in enumerate(parts):  # a handler sends nothing, so the program does
            if other.indptr[column] < other.indptr[column + 1]:
                proc.send(processor, known, column, x[row])
    return x


def by_supersteps(proc, steps, b, solved):
    """Solve a level in each superstep; see `prepared` for `steps`; `solved` is a global array of all unknowns."""
    x, before = b.copy(), slice(0)
    for level, mine, coefficients in steps:
        with proc.superstep("level") as step:
            x[before] = step.copy_in(solved, before)
            step.compute()
            x[mine] -= coefficients @ x
            step.copy_out(solved, mine, x[mine])
        before = level
    return x[proc.rank :: proc.size]


def prepared(proc, lower):
    """Give row i to processor i % size; return the rows of each, and each level: all rows, own rows, coefficients."""
    level = np.zeros(lower.shape[0], int)
    for row in range(len(level)):  # one level above the highest of the unknowns that the row needs
        level[row] = level[lower[row].indices].max(initial=-1) + 1
    levels = [np.flatnonzero(level == number) for number in range(level.max() + 1)]
    mine = [rows[rows % proc.size == proc.rank] for rows in levels]
    steps = [(rows, own, lower[own]) for rows, own in zip(levels, mine, strict=True)]
    return [lower[rank :: proc.size].tocsc() for rank in range(proc.size)], steps


def program(proc, lower, b, solved):
    parts, steps = prepared(proc, lower)
    return by_messages(proc, parts, b), by_supersteps(proc, steps, b, solved)


if __name__ == "__main__":
    lower = sparse.tril(sparse.random(600, 600, 0.01, random_state=0), -1).tocsr()
    b = np.random.default_rng(0).random(600)
    with smp.host(2) as machine:
        results = machine.run(program, lower, b, machine.zeros(600)).results
    expected = np.linalg.solve(lower.toarray() + np.eye(600), b)
    for name, parts in zip(("messages", "supersteps"), zip(*results, strict=True), strict=True):
        print(f"right by {name}:", np.allclose(np.stack(parts, axis=1).ravel(), expected))
