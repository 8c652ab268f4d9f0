"""Makes one HTML file of a report: its tables, and its figures drawn by a script in the page."""
