"""Numbers as text, tables, and the canvas of plots."""
