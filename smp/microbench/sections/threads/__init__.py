"""The cost of threads and streams."""
