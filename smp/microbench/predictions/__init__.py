"""What the measured machine predicts: programs, changes of the machine, the comparison of two."""
