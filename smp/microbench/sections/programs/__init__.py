"""Common parts of the sections on whole programs."""
