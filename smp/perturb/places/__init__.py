"""Named places of a program, and the treatments applied there."""
