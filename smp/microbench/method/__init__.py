"""The measuring method of the microbenchmarks: clocks, windows, visits, and rounds."""
