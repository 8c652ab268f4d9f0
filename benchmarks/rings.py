"""Measure what a ring of packets costs, next to a cache line, an atomic addition, and the same ring in C.

    python benchmarks/rings.py [--rounds 600]

The two sides of each ratio are timed in neighbouring bursts, and the table has the quartiles of the ratios of these
pairs.  A line goes there and back when two processors load and store it in turn.  The C code is compiled in this run
with -O2 -march=native, and works on the same words; without a C compiler its row is left out.

The targets are for CPUs on different cores.  Two hardware threads of one core hand a line over in 20 to 30 ns, the time
of some dozens of instructions, and share the core.  There both ratios to a line are larger, in C as well.  The last
column has the time of the line: the CPUs of a virtual machine change their places from run to run.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from bursts import Row, Words, additions, line_trips, placed, print_rows, rounds

import smp
from smp._runtime.loops.atomics import store_release
from smp._runtime.protocols import rings
from smp.compiled import clock, load

TRIPS, PACKETS, LOOKS = 300, 4000, 1000  # in a burst
SENDERS = (1, 16, 64)

SOURCE = r"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>

enum {RINGS, LENGTH, SIZE, SLOTS, NEXT, IN, PEERS = 16};
enum {OUT, POSTED, LIMIT, OUT_END, TAKEN, PUBLISHED, IN_END};
#define PEER(k)     (net + PEERS + 8 * (k))
#define WORDS       ((int64_t *)net[RINGS])
#define LOAD(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

static int64_t after(int64_t place, int64_t taken, int64_t end, int64_t slots)
{
    place += taken * 8 << 32;
    if (place >> 32 >= end)
        place = ((place >> 32) - 8 * slots) << 32 | ((place + 1) & 0xffff);
    return place;
}

static int post(int64_t *net, int64_t to, int64_t head, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t *peer = PEER(to), *words = WORDS, place = peer[OUT];
    if (peer[POSTED] == peer[LIMIT]) {
        peer[LIMIT] = LOAD(words + peer[OUT_END]) + net[SLOTS];
        if (peer[POSTED] == peer[LIMIT])
            return 0;
    }
    int64_t *slot = words + (place >> 32);
    slot[1] = a, slot[2] = b, slot[3] = c, slot[4] = d;
    STORE(slot, (place & 0xffff) | (int64_t)4 << 16 | head << 25);
    peer[POSTED]++;
    peer[OUT] = after(place, 1, peer[OUT_END], net[SLOTS]);
    return 1;
}

static int found(int64_t *words, int64_t place, int64_t *count, int64_t **payload)
{
    int64_t *slot = words + (place >> 32), word = LOAD(slot);
    *count = word >> 16 & 511, *payload = slot + 1;
    return (uint16_t)word == (uint16_t)place;
}

static int64_t poll(int64_t *net, int64_t *count, int64_t **payload)
{
    int64_t *words = WORDS, *in = net + net[IN], next = net[NEXT], size = net[SIZE];
    for (int64_t k = next; k < size; k++)
        if (found(words, in[k], count, payload))
            return k;
    for (int64_t k = 0; k < next; k++)
        if (found(words, in[k], count, payload))
            return k;
    return -1;
}

static void take(int64_t *net, int64_t from, int64_t count)
{
    int64_t *peer = PEER(from), *words = WORDS, *in = net + net[IN], slots = count <= 7 ? 1 : (count + 6) / 7;
    in[from] = after(in[from], slots, peer[IN_END], net[SLOTS]);
    peer[TAKEN] += slots;
    net[NEXT] = from + 1 < net[SIZE] ? from + 1 : 0;
    if (2 * (peer[TAKEN] - peer[PUBLISHED]) >= net[SLOTS]) {
        peer[PUBLISHED] = peer[TAKEN];
        STORE(words + peer[IN_END], peer[TAKEN]);
    }
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

int64_t one_way(int64_t *net, int64_t *line, int64_t me, int64_t turn, int64_t n)
{
    int64_t begun = now();
    if (me == 0) {
        while (LOAD(line) != turn)
            ;
        for (int64_t k = 0; k < n; k++)
            while (!post(net, 1, 0, k, k + 1, k + 2, k + 3))
                ;
    } else {
        int64_t sum = 0, from, count, *payload;
        STORE(line, turn);
        for (int64_t k = 0; k < n; k++) {
            while ((from = poll(net, &count, &payload)) < 0)
                ;
            sum += payload[0] + payload[1] + payload[2] + payload[3];
            take(net, from, count);
        }
        if (sum != 4 * (n * (n - 1) / 2) + 6 * n)
            return -1;
    }
    return now() - begun;
}

int64_t packet_trips(int64_t *net, int64_t me, int64_t n)
{
    int64_t begun = now(), from, count, *payload;
    for (int64_t k = 0; k < n; k++) {
        if (me == 0)
            while (!post(net, 1, 0, k, k, k, k))
                ;
        while ((from = poll(net, &count, &payload)) < 0)
            ;
        int64_t value = payload[0];
        take(net, from, count);
        if (me == 1)
            while (!post(net, 0, 0, value, k, k, k))
                ;
    }
    return now() - begun;
}
"""


@smp.stream
def packet_trips(net: Words, me: int, n: int) -> int:
    """Return the ns in which a packet of 32 bytes goes there and back ``n`` times."""
    begun = clock()
    for k in range(n):
        if me == 0:
            while not rings.try_post(net, 1, 0, 4, k, k, k, k, 0, 0, 0):
                pass
        sender, _, count, at = rings.try_poll(net)
        while sender < 0:
            sender, _, count, at = rings.try_poll(net)
        value = load(rings.rings_of(net), at)
        rings.take(net, sender, count)
        if me == 1:
            while not rings.try_post(net, 0, 0, 4, value, k, k, k, 0, 0, 0):
                pass
    return clock() - begun


@smp.stream
def one_way(net: Words, line: Words, me: int, turn: int, n: int) -> int:
    """Return the ns in which ``n`` packets of 32 bytes go from processor 0 to 1, which begins; -1 if they are wrong."""
    begun = clock()
    if me == 0:
        while load(line, 0) != turn:
            pass
        for k in range(n):
            while not rings.try_post(net, 1, 0, 4, k, k + 1, k + 2, k + 3, 0, 0, 0):
                pass
    else:
        words, total = rings.rings_of(net), 0
        store_release(line, 0, turn)
        for _ in range(n):
            sender, _, count, at = rings.try_poll(net)
            while sender < 0:
                sender, _, count, at = rings.try_poll(net)
            total += load(words, at) + load(words, at + 1) + load(words, at + 2) + load(words, at + 3)
            rings.take(net, sender, count)
        if total != 4 * (n * (n - 1) // 2) + 6 * n:
            return -1
    return clock() - begun


@smp.stream
def polls(net: Words, n: int) -> tuple[int, int]:
    """Return the ns of ``n`` polls of empty rings, and the number of packets that they found, which is 0."""
    begun, found = clock(), 0
    for _ in range(n):
        found += rings.try_poll(net)[0] >= 0
    return clock() - begun, found


def aligned(count: int) -> Words:
    """Return words that begin with a cache line, as pages of shared memory do."""
    words = np.zeros(count + 8, np.int64)
    return words[(-(words.ctypes.data >> 3)) % 8 :][:count]


def prepared(words: Words, rank: int, processors: int, slots: int) -> Words:
    net = aligned(rings.private_words(processors))
    rings.prepare(net, words.ctypes.data, rank, processors, slots)
    return net


def in_c(path: str) -> tuple[Any, Any]:
    """Return the loops in C, which are called like the compiled ones: packets that go there and back, and one way."""
    library = ctypes.CDLL(path)

    def called(function: Any) -> Any:
        function.restype = ctypes.c_int64

        def call(*args: Any) -> int:
            return int(function(*(ctypes.c_int64(arg if isinstance(arg, int) else arg.ctypes.data) for arg in args)))

        return call

    return called(library.packet_trips), called(library.one_way)


def two_processors(proc: smp.Processor, words: Any, line: Any, path: str, n: int) -> list[list[float]]:
    """Return the ns of a line's trip, a packet's trip, a packet one way, and of both in C; one row a round."""
    me, net = proc.rank, prepared(words.view, proc.rank, 2, rings.slots_for(2))
    loops = [(packet_trips, one_way), *([in_c(path)] if path else [])]
    found, turn = [], 0
    for _ in range(n + 3):
        proc.barrier()
        row = [line_trips(line.view, me, turn, TRIPS) / TRIPS]
        turn += 2 * TRIPS
        for trips, way in loops:
            proc.barrier()
            row.append(trips(net, me, TRIPS) / TRIPS)
            proc.barrier()
            turn += 1
            ns = way(net, line.view, me, turn, PACKETS)
            assert ns >= 0, "the packets were not those that were sent"
            row.append(ns / PACKETS)
        found.append(row)
    return found[3:]


def one_processor(proc: smp.Processor, words: Any, n: int) -> list[tuple[float, ...]]:
    """Return the ns of an addition and of a poll of each number of senders, one row a round."""
    nets, word = [prepared(words.view, 0, p, rings.slots_for(p)) for p in SENDERS], aligned(8)
    found = []
    for _ in range(n + 3):
        row = [additions(word, LOOKS) / LOOKS]
        for net in nets:
            ns, there = polls(net, LOOKS)
            assert there == 0, "a poll found a packet in an empty ring"
            row.append(ns / LOOKS)
        found.append(tuple(row))
    return found[3:]


def main() -> None:
    n = rounds("Measure what a ring of packets costs, as ratios of one run.")
    compiler = shutil.which("cc") or shutil.which("gcc")
    with tempfile.TemporaryDirectory() as folder, smp.host(2) as machine:
        path = ""
        if compiler is not None:
            file, path = Path(folder, "ring.c"), str(Path(folder, "ring.so"))
            file.write_text(SOURCE)
            subprocess.run([compiler, "-O2", "-march=native", "-shared", "-fPIC", "-o", path, file], check=True)
        words = machine.zeros(rings.ring_words(2, rings.slots_for(2)), np.int64)
        run = machine.run(two_processors, words, machine.zeros(16, np.int64), path, n)
        pair = np.array(run.results[1])
    with smp.host(1) as machine:
        words = machine.zeros(max(rings.ring_words(p, rings.slots_for(p)) for p in SENDERS), np.int64)
        alone = np.array(machine.run(one_processor, words, n).results[0])
    rows: list[Row] = [
        ("packet there and back / line there and back", pair[:, 1], pair[:, 0], 1.3),
        ("packet of 32 bytes one way / line there and back", pair[:, 2], pair[:, 0], 0.05),
    ]
    if path:
        rows.append(("  packet there and back in C / line", pair[:, 3], pair[:, 0], None))
        rows.append(("  packet there and back / the same in C", pair[:, 1], pair[:, 3], None))
        rows.append(("packet of 32 bytes one way / the same in C", pair[:, 2], pair[:, 4], 1.2))
    for k, senders in enumerate(SENDERS):
        what = f"poll of {senders} empty ring{'s' if senders > 1 else ''} / atomic addition"
        rows.append((what, alone[:, k + 1], alone[:, 0], 4 if senders == 64 else None))
    print_rows(rows, 50)
    print(f"{n} rounds of bursts; {placed(run)}")


if __name__ == "__main__":
    main()
