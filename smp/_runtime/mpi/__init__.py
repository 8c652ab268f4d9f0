"""The machine of MPI: a launcher starts its processors, which then work as those of the host."""
