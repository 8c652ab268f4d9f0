"""A small machine file, in which tests change single lines."""

SMALL = """\
name = "small"
processors = 16
source = "made up"

[clock]
hz = { value = 100, unit = "MHz", source = "made up" }

[message]
notify = "poll"
request = 60
rpc = 60
inject = 40
receive = { value = 0.5, unit = "us", source = "a guess" }
poll_empty = 10
payload = 16
words = 4

[interface]
in_fifo = 4
out_fifo = 4

[network]
kind = "mesh"
hop = 2
link_bandwidth = [20_000_000]
buffers = 2
routing = "dimension"

[control]
kind = "none"
fan_out = 2

[published]
round_trip = { constant = 400, per_hop = 4, sets = ["network.hop"], source = "a measurement" }
"""


def changed(old: str, new: str) -> tuple[str, int]:
    """Return the file with a line replaced, and the number of that line."""
    lines = SMALL.splitlines()
    number = lines.index(old)
    lines[number : number + 1] = new.splitlines()
    return "\n".join(lines) + "\n", number + 1
