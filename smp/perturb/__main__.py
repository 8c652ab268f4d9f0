"""``python -m smp.perturb``."""

from .._command import run

if __name__ == "__main__":
    run("smp.perturb.command")
