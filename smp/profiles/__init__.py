"""What was measured of a machine, as a file, and what it charges."""
