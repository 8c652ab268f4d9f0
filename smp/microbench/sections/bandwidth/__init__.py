"""Memory bandwidth, and latency under load."""
