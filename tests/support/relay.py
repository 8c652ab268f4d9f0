"""A program that makes two network interfaces, and passes what comes to either on to the other after a delay.

Usage: relay.py FIRST SECOND SECONDS. Not every kernel has a queue that delays packets.
"""

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

SET, TAP, WITHOUT_HEADER = 0x400454CA, 0x0002, 0x1000


def interface(name: str) -> int:
    """Make a network interface; return the descriptor on which its packets are read and written."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, SET, struct.pack("16sH22x", name.encode(), TAP | WITHOUT_HEADER))
    return fd


def relay(first: str, second: str, delay: float) -> None:
    """Pass packets on until the process is killed."""
    other = dict(zip(ends := [interface(first), interface(second)], reversed(ends), strict=True))
    waiting: deque[tuple[float, int, bytes]] = deque()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for fd in select.select(ends, [], [], left)[0]:
            with contextlib.suppress(BlockingIOError):
                waiting.append((time.monotonic() + delay, other[fd], os.read(fd, 1 << 16)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, to, packet = waiting.popleft()
            with contextlib.suppress(OSError):  # the interface is down, or its queue is full
                os.write(to, packet)


if __name__ == "__main__":
    relay(sys.argv[1], sys.argv[2], float(sys.argv[3]))
