"""The microbenchmarks, a folder each."""
