"""What trials show: effects, their uncertainty, gains, the next step, as numbers, text and plots."""
