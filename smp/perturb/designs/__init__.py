"""Designs of experiments: which places are treated in which trial."""
