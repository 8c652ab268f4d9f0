"""Sparse matrices whose rows are shared out to processors, and the cost of a product once they are."""
