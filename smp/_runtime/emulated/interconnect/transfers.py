"""Processors that send blocks packet by packet, and receive those of others.

    SENDING     the processor has tried to send a packet ──▶ it polls ──▶ pays, and tries to send the next
    POLLING     it has received a packet, and polls again
    COLLECTING  all packets of the phase are sent: it polls until those that it expects have come
    MEETING     it has entered the barrier, and polls until all have

A program is a list of phases for each node. A phase has transfers, of which ``interleave`` are open at a time and get
``batch`` packets in turn; a number of packets, all phases together, that must have come at its end; and a barrier or
none.
A step of a processor takes place at the end of the attempt to send, so a poll comes at the same time.

With a device for blocks, the processor only hands the transfers of a phase over (see `devices`).
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from .barrier import enter
from .interface import ACCEPTED, arrival, discard, put, room
from .layout import (
    ASLEEP,
    BATCH,
    BEGIN,
    BEGUN,
    CHANNELS,
    CURSOR,
    DONE_AT,
    ENTRIES,
    EXPECTED,
    FINISH,
    FREED,
    GOT,
    HANDED,
    HANDLE,
    IN_TURN,
    INTERLEAVE,
    LAST_PHASE,
    LEFT,
    MATCH,
    MEETS,
    MET,
    MODE,
    NEVER,
    OUT_TURN,
    PACE,
    PAYLOAD,
    PHASE,
    PHASE_ROW,
    PHASES_AT,
    POLL,
    POLLS_IN_BARRIER,
    PROCESSOR_ACTORS,
    QUANTUM,
    RULE,
    SEND,
    SENDER,
    SENDER_ACTORS,
    SENT,
    SINCE,
    START,
    STOLEN,
    STOLEN_AT,
    STOLEN_EVERY,
    TAKER,
    TAKER_ACTORS,
    TO,
    TRANSFER,
    TRANSFERS_AT,
    TURN,
    TURN_LEFT,
    WENT,
    WINDOW,
    WINDOW_END,
    WINDOW_LEFT,
    WOKEN,
    node_of,
)
from .sleeping import AT_WORK, FOR_ARRIVALS, FOR_DEVICES, FOR_RELEASE, FOR_ROOM, IDLE, RESTING, sleep, wake
from .timing import set_timer

SENDING, POLLING, COLLECTING, MEETING, HANDING = range(1, 6)  # of MODE
NO_POLL, ONCE, EMPTY = range(3)  # of RULE: polls after each packet that is sent


@inline
def transfers_of(header: Words, node: int) -> Words:
    return words_at(node_of(header, node)[TRANSFERS_AT], ENTRIES)


@inline
def _phase(header: Words, node: int) -> Words:
    row = node_of(header, node)
    return words_at(row[PHASES_AT] + row[PHASE] * (8 * PHASE_ROW), ENTRIES)


@inline
def _at(header: Words, node: int, time: int) -> None:
    row = node_of(header, node)
    while time != NEVER and row[STOLEN_AT] <= time:
        time += header[STOLEN]
        row[STOLEN_AT] += header[STOLEN_EVERY]
    set_timer(header, header[PROCESSOR_ACTORS] + node, time)


@inline
def _open(header: Words, node: int, first: int) -> bool:
    """Open the next transfers of a phase, from ``first`` on, that have packets; return False if there are none."""
    row, transfers, finish = node_of(header, node), transfers_of(header, node), _phase(header, node)[FINISH]
    left, last = 0, first
    while left == 0 and last < finish:
        first = last
        last = min(first + row[INTERLEAVE], finish)
        for transfer in range(first, last):
            left += transfers[transfer * TRANSFER + LEFT]
    row[WINDOW], row[WINDOW_END], row[WINDOW_LEFT] = first, last, left
    row[CURSOR], row[TURN_LEFT] = first, row[BATCH]
    while left > 0 and transfers[row[CURSOR] * TRANSFER + LEFT] == 0:
        row[CURSOR] += 1
    return left > 0


@inline
def _next_cost(header: Words, node: int) -> int:
    """Return the time that the transfer takes, before its packet, that is sent next."""
    row, transfers = node_of(header, node), transfers_of(header, node)
    at, cost = row[CURSOR] * TRANSFER, 0
    if transfers[at + BEGUN] == 0:
        transfers[at + BEGUN] = 1
        cost = header[START]
    if row[TURN_LEFT] == row[BATCH] and row[INTERLEAVE] > 1:
        cost += header[TURN]
    return cost


@inline
def _begin_phase(header: Words, node: int, now: int) -> None:
    """Begin the next phase, or end the program."""
    row = node_of(header, node)
    if row[PHASE] == row[LAST_PHASE]:
        row[MODE], row[DONE_AT] = IDLE, now
        row[SENDER] = row[TAKER] = AT_WORK
        header[WOKEN] = node
        return
    row[FREED] = NEVER
    row[WENT] = row[MET] = 1
    phase = _phase(header, node)
    if header[PACE] != 0:
        transfers = transfers_of(header, node)
        row[CURSOR] = row[HANDED] = phase[BEGIN]
        row[WINDOW_LEFT] = 0
        for transfer in range(phase[BEGIN], phase[FINISH]):
            row[WINDOW_LEFT] += transfers[transfer * TRANSFER + LEFT]
        row[MODE] = HANDING if phase[BEGIN] < phase[FINISH] else COLLECTING
        _at(header, node, now + (header[START] if row[MODE] == HANDING else 0))
    elif _open(header, node, phase[BEGIN]):
        row[MODE] = SENDING
        _at(header, node, now + _next_cost(header, node) + header[SEND])
    else:
        row[MODE] = COLLECTING
        _at(header, node, now)


@inline
def _sent(header: Words, node: int) -> None:
    """Count a packet that was sent, and choose the transfer of the next."""
    row, transfers = node_of(header, node), transfers_of(header, node)
    transfers[row[CURSOR] * TRANSFER + LEFT] -= 1
    row[SENT] += 1
    row[WINDOW_LEFT] -= 1
    row[TURN_LEFT] -= 1
    if row[WINDOW_LEFT] == 0:
        _open(header, node, row[WINDOW_END])
    elif row[TURN_LEFT] == 0 or transfers[row[CURSOR] * TRANSFER + LEFT] == 0:
        cursor = row[CURSOR]
        while True:
            cursor = cursor + 1 if cursor + 1 < row[WINDOW_END] else row[WINDOW]
            if transfers[cursor * TRANSFER + LEFT] > 0:
                break
        row[CURSOR], row[TURN_LEFT] = cursor, row[BATCH]


@inline
def _try(header: Words, node: int, now: int) -> None:
    """Try to send a packet; the next attempt is on the next channel."""
    row = node_of(header, node)
    to = transfers_of(header, node)[row[CURSOR] * TRANSFER + TO]
    channel = row[OUT_TURN]
    row[OUT_TURN] = (channel + 1) % header[CHANNELS]
    row[MET] = 0
    row[WENT] = 0
    if put(header, node, channel, to, header[PAYLOAD], 0, now) == ACCEPTED:
        row[WENT] = 1
        _sent(header, node)


@inline
def _receives(header: Words, node: int, now: int) -> bool:
    """Poll all channels; return True if a packet was there, which is then received."""
    row, channels = node_of(header, node), header[CHANNELS]
    for k in range(channels):
        channel = (row[IN_TURN] + k) % channels
        if arrival(header, node, channel) <= now:
            row[IN_TURN] = (channel + 1) % channels
            discard(header, node, channel, now)
            row[GOT] += 1
            row[MET] = 1
            return True
    return False


@inline
def _first_arrival(header: Words, node: int) -> int:
    time = NEVER
    for channel in range(header[CHANNELS]):
        time = min(time, arrival(header, node, channel))
    return time


@inline
def _any_room(header: Words, node: int) -> bool:
    rooms = 0
    for channel in range(header[CHANNELS]):
        rooms += room(header, node, channel, header[PAYLOAD])
    return rooms > 0


@inline
def _rest(header: Words, node: int, now: int, quantum: int, until: int) -> None:
    """Let a processor sleep, and set when it wakes if that is known."""
    _at(header, node, NEVER)
    sleep(header, node, now, quantum, until)
    time = _first_arrival(header, node) if until & FOR_ARRIVALS != 0 else NEVER
    if until & FOR_RELEASE != 0:
        time = min(time, node_of(header, node)[FREED])
    if time != NEVER:
        wake(header, node, time)


@inline
def _go_on(header: Words, node: int, now: int, after: int) -> None:
    """Send the next packet, or wait for room, or collect what is still to come."""
    row = node_of(header, node)
    if row[WINDOW_LEFT] == 0:
        row[MODE] = COLLECTING
        _at(header, node, after)
        return
    row[MODE] = SENDING
    if row[WENT] == 0 and row[MET] == 0 and not _any_room(header, node):
        _rest(
            header, node, now, after - now + header[SEND], FOR_ROOM if row[RULE] == NO_POLL else FOR_ROOM + FOR_ARRIVALS
        )
        return
    time = after + header[SEND]
    if row[WENT] != 0:
        time += _next_cost(header, node)
        if row[MET] == 0:
            time += row[MATCH]
    _at(header, node, time)


@inline
def _polled_in_vain(header: Words, node: int, now: int) -> None:
    """Go on after a poll that found nothing."""
    row = node_of(header, node)
    after = now + header[POLL]
    mode = row[MODE]
    if mode in (SENDING, POLLING):
        _go_on(header, node, now, after)
        return
    if mode == COLLECTING:
        if row[GOT] < _phase(header, node)[EXPECTED] or row[WINDOW_LEFT] > 0:
            _rest(header, node, now, header[POLL], FOR_ARRIVALS if header[PACE] == 0 else FOR_DEVICES)
            return
        if _phase(header, node)[MEETS] == 0:
            row[PHASE] += 1
            _begin_phase(header, node, after)
            return
        row[MODE] = MEETING
        enter(header, node, after)
    if row[FREED] <= now:
        row[PHASE] += 1
        _begin_phase(header, node, after)
    else:
        _rest(header, node, now, header[POLL], FOR_RELEASE + (FOR_ARRIVALS if row[POLLS_IN_BARRIER] != 0 else 0))


@inline
def _hand_over(header: Words, node: int, now: int) -> None:
    """Hand a transfer to the device, and begin with the next; after the last one, wait."""
    row = node_of(header, node)
    row[HANDED] += 1
    if row[SENDER] == RESTING:
        row[SENDER] = AT_WORK
        set_timer(header, header[SENDER_ACTORS] + node, now)
    if row[HANDED] < _phase(header, node)[FINISH]:
        _at(header, node, now + header[START])
    else:
        row[MODE] = COLLECTING
        _at(header, node, now)


@inline
def _wake_up(header: Words, node: int, now: int) -> None:
    """Count the looks that a sleeping sender has made in vain: each was at the next channel."""
    row = node_of(header, node)
    if row[MODE] == SENDING and row[QUANTUM] > 0:
        looks = (now - row[SINCE]) // row[QUANTUM] - 1
        row[OUT_TURN] = (row[OUT_TURN] + looks) % header[CHANNELS]
    row[ASLEEP] = 0


@inline
def step(header: Words, node: int, now: int) -> None:
    """Make the step of a processor that is due."""
    row = node_of(header, node)
    if row[ASLEEP] != 0:
        _wake_up(header, node, now)
    if row[MODE] == HANDING:
        _hand_over(header, node, now)
        return
    if row[MODE] == SENDING:
        _try(header, node, now)
        if row[RULE] == NO_POLL:
            _go_on(header, node, now, now)
            return
    elif header[PACE] != 0:
        _polled_in_vain(header, node, now)
        return
    if (row[MODE] != MEETING or row[POLLS_IN_BARRIER] != 0) and _receives(header, node, now):
        after = now + header[POLL] + header[HANDLE]
        if row[MODE] == SENDING and row[RULE] == ONCE:
            _go_on(header, node, now, after)
        else:
            if row[MODE] == SENDING:
                row[MODE] = POLLING
            _at(header, node, after)
        return
    _polled_in_vain(header, node, now)


@inline
def begin(header: Words, node: int, now: int) -> None:
    """Let an idle node begin with the phases that its row names."""
    row = node_of(header, node)
    if header[PACE] != 0:
        row[SENDER], row[TAKER] = RESTING, AT_WORK
        set_timer(header, header[TAKER_ACTORS] + node, now)
    _begin_phase(header, node, now)
