"""The objects that a program uses on every kind of machine, and the answers and failures of its processors."""
