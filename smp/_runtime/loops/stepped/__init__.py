"""Loops on an emulated machine as machine code, which makes the same steps as their interpreted source."""
