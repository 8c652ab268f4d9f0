"""Entry point of ``python -m smp.microbench``."""

from .._computer.commands import run

if __name__ == "__main__":
    run("smp.microbench.command")
