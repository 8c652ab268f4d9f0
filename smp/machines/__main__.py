"""Entry point of ``python -m smp.machines``."""

from .._computer.commands import run

if __name__ == "__main__":
    run("smp.machines.command")
