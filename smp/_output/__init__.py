"""Formats numbers and tables as text, and draws figures."""
