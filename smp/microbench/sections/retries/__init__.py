"""The retries of a wait."""
