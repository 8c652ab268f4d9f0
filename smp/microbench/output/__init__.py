"""The formats and axes of reports and plots."""
