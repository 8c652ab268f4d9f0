"""The emulated machine: its processors take turns in one process, in virtual time."""
