"""Heat a plate from above: sweeps that set each inner point to the mean of its four neighbours, in plain supersteps."""

import numpy as np

import smp


def means(grid):
    """Return the means of the four neighbours of the inner points."""
    return (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4


def sweep(proc, old, new, sweeps):
    """Sweep from one array to the other and back, and return the last change of any point."""
    mine = proc.block(len(old) - 2)  # of the inner rows
    rows, inner = slice(mine.start, mine.stop + 2), (slice(mine.start + 1, mine.stop + 1), slice(1, -1))
    for _ in range(sweeps):
        with proc.superstep("sweep") as step:
            grid = step.copy_in(old, rows)  # the own rows, and one of each neighbour
            step.compute()
            after = means(grid)
            step.copy_out(new, inner, after)
        old, new = new, old
    return proc.reduce(np.abs(after - grid[1:-1, 1:-1]).max(), np.maximum)


if __name__ == "__main__":
    plate = np.zeros((200, 200))
    plate[0] = 100
    with smp.host(2) as machine:
        old, new = machine.array(plate), machine.array(plate)
        change = machine.run(sweep, old, new, 500).results[0]
        heated = old[:]
        for _ in range(500):
            plate[1:-1, 1:-1] = means(plate)
        print(f"mean {heated.mean():.3f} after 500 sweeps, last change {change:.4f}")
        print(f"the same as in one process: {np.array_equal(heated, plate)}")
