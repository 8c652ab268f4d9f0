"""All schedules of a small program, and one of them again."""
