"""Collectives: every processor calls them in the same order, and gets a result made of what all have given."""
