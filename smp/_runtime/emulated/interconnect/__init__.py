"""Networks of packets."""
