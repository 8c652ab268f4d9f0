"""``smp measure``: measure this computer, or a machine of MPI, and write a report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .._output.forms import add_forms
from ..microbench import actions
from ..microbench.options import add_folder, add_plan, add_profile, add_size, check_machine

EXAMPLES = """
examples:
  smp measure --quick              45 seconds: every answer, roughly
  smp measure                      four minutes: answers to rely on
  smp measure --full -p 1,2,4,8    the complete grids of the papers
  smp measure --only latency,lists
  smp measure --budget 60          what fits into a minute, the most important sections first
  smp measure --profile smp-report --only sorting      sort again, with the cost functions of that profile
  smp measure --machine mpi:8 --hosts a:4,b:4          a machine of MPI on two computers

`python -m smp.microbench` is the same with the options of smp show, compare, impact and calibrate.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp measure",
        description="Measure what shared memory costs on this computer, fit cost functions to the measured times, and "
        "show where the times of programs lie in the predicted intervals.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_size(made)
    add_plan(made)
    add_profile(made, "add the sections that --only names to a saved profile")
    add_folder(made)
    add_forms(made)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    line = parser()
    options = line.parse_args(arguments)
    check_machine(line, options)
    if options.profile and not options.only:
        line.error("argument --profile: name with --only the sections to measure again (smp show prints a profile)")
    return actions.carry_out(actions.run, options)
