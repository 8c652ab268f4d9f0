"""Analysis of trials: effects, their uncertainty, gains, and the next step, as numbers, text and plots."""
