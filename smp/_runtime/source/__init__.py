"""A user's source lines: the titles of notebook cells, and whose line a frame is at."""
