"""The cost of an instruction."""
