"""What the sections on whole programs share."""
