"""List ranking, set against its prediction."""
