"""The objects that a program uses, written once over the port; the answers and the failures of its processors."""
