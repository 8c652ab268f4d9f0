"""``python -m smp.microbench``."""

from .._command import run

if __name__ == "__main__":
    run("smp.microbench.cli")
