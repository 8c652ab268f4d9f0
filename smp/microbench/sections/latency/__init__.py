"""Memory latency."""
