"""List ranking and list scan: functions, forms on streams, SPMD programs."""
