"""Runs a small program under all its schedules, or once more under one of them."""
