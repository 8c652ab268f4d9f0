"""Helpers that several tests share: machines, profiles, loops, scenarios, oracles."""
