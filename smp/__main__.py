"""Entry point of ``python -m smp``, which is the command ``smp``; with a script, ``smp run`` of it."""

import sys

from ._commands.command import enter

if __name__ == "__main__":
    if sys.argv[1:2] == ["-m"] or (sys.argv[1:] and sys.argv[1].endswith(".py")):
        sys.argv.insert(1, "run")
    enter()
