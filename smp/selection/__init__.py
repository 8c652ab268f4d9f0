"""Libraries of implementations: calibrated, chosen from, tried, kept."""
