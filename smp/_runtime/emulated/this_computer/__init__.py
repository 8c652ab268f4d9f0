"""This computer with another number of processors: a machine in virtual time that is made from a profile."""
