"""Runs a script, or a module: ``mpiexec -n 4 python -m smp program.py [words]``, or ``... -m smp -m package [words]``.

Rank 0 runs it, and the other ranks serve the machines that it opens with `smp.mpi`.  So what the script prints
and writes outside of programs is printed and written once.  Without a launcher, this only runs the script.
"""

from __future__ import annotations

import os
import runpy
import sys

USAGE = "usage: python -m smp PROGRAM.py [WORDS...]\n       python -m smp -m MODULE [WORDS...]"


def main() -> None:
    """Run the script or the module that the command names, or serve as a rank."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[1:] == ["-m"]:
        print(__doc__, USAGE, sep="\n")
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    from ._runtime.mpi.jobs import place_in_job
    from ._runtime.mpi.ranks import become_a_rank

    place = place_in_job()
    if place is not None and place.rank > 0:
        become_a_rank()
    del sys.argv[0]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
