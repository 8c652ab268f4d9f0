"""The emulated machine: processors that take turns in one process, in virtual time."""
