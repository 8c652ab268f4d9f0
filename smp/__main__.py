"""Runs a script: ``mpiexec -n 4 python -m smp program.py [words]``.

Rank 0 runs the script, and the other ranks serve the machines that it opens with `smp.mpi`.  So what the script prints
and writes outside of programs is printed and written once.  Without a launcher, this only runs the script.
"""

from __future__ import annotations

import os
import runpy
import sys

USAGE = "usage: python -m smp PROGRAM.py [WORDS...]"


def main() -> None:
    """Run the script that the command names, or serve as a rank."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__, USAGE, sep="\n")
        sys.exit(0 if len(sys.argv) > 1 else 2)
    from ._runtime.mpi.jobs import place_in_job
    from ._runtime.mpi.ranks import become_a_rank

    place = place_in_job()
    if place is not None and place.rank > 0:
        become_a_rank()
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
