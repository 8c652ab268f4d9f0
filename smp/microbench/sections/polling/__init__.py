"""What polling costs others."""
