"""List ranking by streams of one processor."""
