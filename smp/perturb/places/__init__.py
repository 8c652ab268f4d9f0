"""Named places of a program, and what is done there."""
