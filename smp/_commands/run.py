"""``smp run``: run a script or a module; under a launcher of MPI on rank 0, while the other ranks serve its machines.

    smp run program.py [WORDS...]          mpiexec -n 4 smp run program.py [WORDS...]
    smp run -m package [WORDS...]

So what the script prints and writes outside of programs is printed and written once.  Without a launcher, this only
runs the script.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand; it takes no option of its own, as all words belong to the script."""
    made = argparse.ArgumentParser(
        prog="smp run",
        description="Run a script. Under a launcher of MPI, rank 0 runs it, and the other ranks serve the machines "
        "that it opens with smp.mpi: mpiexec -n 4 smp run program.py",
    )
    made.add_argument("-m", action="store_true", help="run a module by its name, as python -m does")
    made.add_argument("program", help="script or module")
    made.add_argument("words", nargs=argparse.REMAINDER, help="its arguments")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the script or the module, or serve as a rank."""
    options = parser().parse_args(arguments)
    from .._runtime.mpi.jobs import place_in_job
    from .._runtime.mpi.ranks import become_a_rank

    place = place_in_job()
    if place is not None and place.rank > 0:
        become_a_rank()
    sys.argv[:] = [options.program, *options.words]
    if options.m:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.program))
        runpy.run_path(options.program, run_name="__main__")
    return 0
