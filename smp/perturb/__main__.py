"""Entry point of ``python -m smp.perturb``."""

from .._computer.commands import run

if __name__ == "__main__":
    run("smp.perturb.command")
