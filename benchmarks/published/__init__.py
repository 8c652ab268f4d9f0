"""Published experiments on emulated machines: each module or package here is a command of ``benchmarks/machines.py``.

A command has the line `SUMMARY`, and a function ``results(quick)`` that returns its `Part`s (see ``rows``).
"""

COMMANDS = ("bus", "host", "lopc", "models", "mta", "networks", "selection")
"""Names of the commands, which are the names of their modules."""
