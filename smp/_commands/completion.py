"""``smp completion``: print the lines that make a shell complete the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

SHELLS = {
    "bash": 'eval "$(smp completion bash)"            # in ~/.bashrc',
    "zsh": 'eval "$(smp completion zsh)"             # in ~/.zshrc',
    "fish": "smp completion fish | source             # in ~/.config/fish/config.fish",
}
"""The line of each shell's start-up file."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the subcommand."""
    made = argparse.ArgumentParser(
        prog="smp completion",
        description="Print the lines that make a shell complete subcommands, options and files of this command.",
        epilog="for all later shells:\n  " + "\n  ".join(SHELLS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("shell", choices=SHELLS)
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand, and return its exit code."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["smp"], shell=parser().parse_args(arguments).shell))
    return 0
