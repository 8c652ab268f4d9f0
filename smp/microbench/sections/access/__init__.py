"""Access patterns and the cost functions fitted to them."""
