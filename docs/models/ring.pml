/*
 * The rings of smp/_runtime/protocols/rings.py: P senders, one receiver, and a ring from each sender.
 *
 *   here                          in the code
 *   ----------------------------  ----------------------------------------------------------------
 *   word[FIRST(s, at)]            the first word of a slot: its stamp, and the number of slots of the
 *                                 message that begins there (there, the number of its words)
 *   word[PAYLOAD(s, at)]          the seven words of its payload
 *   word[CREDIT(s)]               the credit of the ring of sender s
 *   at, lap, posted, limit        OUT (index and lap), POSTED and LIMIT of a sender
 *   in, due, taken, published     IN (index and lap), TAKEN and PUBLISHED of the receiver
 *   post                          room and try_post_from; with one slot, try_post
 *   take                          try_poll, read and take
 *   S, K                          SLOTS, and the most slots of a message, SLOTS / 2 + 1
 *   LAPS                          2^16: the number of different stamps
 *
 * A step of the model touches shared memory once, as one instruction does.  A sender that looks for
 * room in vain, or a receiver that polls in vain, tries again, so here each of them waits until there
 * is something to see.  The receiver takes from any sender that has a message, whichever is next.
 *
 * Memory is weaker than what the code asks for, and weaker than that of an x86. A store goes into a
 * buffer of its processor, and from there into memory at any later time and in any order, with one
 * exception: a store that releases leaves the buffer only when it is the oldest one there. Payloads
 * and the stamps of further slots are plain stores here, though the code releases with each of them.
 * A load acquires: it comes before all that its processor does later. On an x86 every store
 * releases. No processor loads a word to which it stores, so it never has to look into its buffer;
 * and it never has two plain stores to one word in it, because it fills a slot again only when it has
 * seen the credit, so the first of the two is in memory.
 *
 * Checked: the receiver takes the messages of each sender in their order, each once, each as a
 * whole, and finds no others; everyone ends, so no message is lost and no sender waits for room for
 * ever. A sender may be killed anywhere (KILLS); then all others end. Planted bugs: the macros that
 * begin with BUG, one at a time.
 */

#ifndef P
#define P 1
#endif
#ifndef S
#define S 2
#endif
#ifndef K
#define K (S / 2 + 1)
#endif
#ifndef N
#define N 4                     /* messages of each sender */
#endif
#ifndef LAPS
#define LAPS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif

#define FIRST(s, at)    ((s) * S + (at))
#define PAYLOAD(s, at)  (P * S + (s) * S + (at))
#define CREDIT(s)       (2 * P * S + (s))

#define STAMP(lap, slots)  ((lap) + LAPS * (slots))
#define LAP(w)             ((w) % LAPS)
#define SLOTS(w)           ((w) / LAPS)

#define CONTENT(m, k)  (1 + (m) * K + (k))      /* of slot k of message m */

#ifdef BUG_ONE_TOO_MANY
#define ROOM (S + 1)
#else
#define ROOM S
#endif
#ifdef BUG_CREDIT_HELD_BACK
#define HALF(n) ((n) >= S)
#else
#define HALF(n) (2 * (n) >= S)
#endif
#ifdef BUG_NO_LAP
#define AFTER(lap) (lap)
#else
#define AFTER(lap) (((lap) + 1) % LAPS)
#endif

byte word[2 * P * S + P];
byte size[P * N];               /* the slots of each message, for the assertions */
bool doomed[P];                 /* the sender is killed at its next step */
byte kills;

/* ---- the store buffers; that of the receiver is the last ----------------------------------- */

#define DEEP     4              /* entries of a buffer */
#define PLAIN    0
#define RELEASE  1

typedef Buffer {
    byte held;                  /* how many stores are in it, the oldest first */
    byte at[DEEP];
    byte value[DEEP];
    bit  order[DEEP]
};
Buffer buffer[P + 1];

inline store(me, which, what, how) {            /* waits while the buffer is full */
    atomic {
        buffer[me].held < DEEP ->
        buffer[me].at[buffer[me].held] = which;
        buffer[me].value[buffer[me].held] = what;
        buffer[me].order[buffer[me].held] = how;
        buffer[me].held++
    }
}

#define MAY(n)  (buffer[me].held > n && (n == 0 || buffer[me].order[n] == PLAIN))   /* store n may leave */

proctype Memory(byte me) {
    byte k;
end:
    do
    :: atomic {
        if
        :: MAY(0) -> k = 0
        :: MAY(1) -> k = 1
        :: MAY(2) -> k = 2
        :: MAY(3) -> k = 3
        fi;
        word[buffer[me].at[k]] = buffer[me].value[k];
        do
        :: k + 1 < buffer[me].held ->
            buffer[me].at[k] = buffer[me].at[k + 1];
            buffer[me].value[k] = buffer[me].value[k + 1];
            buffer[me].order[k] = buffer[me].order[k + 1];
            k++
        :: else -> break
        od;
        buffer[me].at[k] = 0;
        buffer[me].value[k] = 0;
        buffer[me].order[k] = PLAIN;
        buffer[me].held = k;
        k = 0
       }
    od
}

/* ---- smp/_runtime/protocols/rings.py ------------------------------------------------------- */

#ifdef BUG_STAMP_NOT_RELEASED
#define PUBLISH PLAIN
#else
#define PUBLISH RELEASE
#endif

inline step_to_the_next_slot() {
    i++;
    if
    :: i == S -> i = 0; l = AFTER(l)
    :: else
    fi
}

inline stamp_the_first() { store(me, FIRST(me, at), STAMP(lap, slots), PUBLISH) }

inline post() {
    if
    :: limit - posted >= slots
    :: else ->
#ifdef BUG_NO_SECOND_LOOK
        false;
#endif
        atomic {
#ifdef BUG_ROOM_FOR_ONE
            word[CREDIT(me)] + ROOM - posted >= 1;
#else
            word[CREDIT(me)] + ROOM - posted >= slots;
#endif
            limit = word[CREDIT(me)] + ROOM
        }
    fi;
#ifdef BUG_STAMP_BEFORE_PAYLOAD
    stamp_the_first();
#endif
    atomic { i = at; l = lap; k = 0 };
    do
    :: k < slots ->
        store(me, PAYLOAD(me, i), CONTENT(m, k), PLAIN);
#ifdef BUG_FIRST_STAMP_FIRST
        if
        :: k == 0 -> stamp_the_first()
        :: else
        fi;
#endif
#ifndef BUG_ONE_STAMP
        if
        :: k > 0 -> store(me, FIRST(me, i), STAMP(l, 0), PLAIN)
        :: else
        fi;
#endif
        atomic { k++; step_to_the_next_slot() }
    :: else -> break
    od;
#if !defined(BUG_STAMP_BEFORE_PAYLOAD) && !defined(BUG_FIRST_STAMP_FIRST)
    stamp_the_first();
#endif
    atomic { posted = posted + slots; at = i; lap = l; i = 0; l = 0; k = 0 }
}

proctype Sender(byte me) {
    byte m, slots, k, i, at, l, lap = 1, posted;
    short limit = ROOM;
    {
        do
        :: m < N ->
            atomic {
                select(slots : 1 .. K);
                size[me * N + m] = slots
            };
            post();
            atomic { m++; slots = 0 }
        :: else -> break
        od
    } unless { doomed[me] }
}

inline publish() {
    atomic { published[s] = taken[s] };
    store(P, CREDIT(s), taken[s], RELEASE)
}

inline give_back() {
#ifdef BUG_ONE_GIVEN_BACK
    taken[s] = taken[s] + 1;
#else
    taken[s] = taken[s] + slots;
#endif
    if
    :: HALF(taken[s] - published[s]) -> publish()
    :: else
    fi
}

#define THERE(s)  (LAP(word[FIRST(s, in[s])]) == due[s])
#define ENDED(s)  (got[s] == N || doomed[s])

inline take() {                 /* from sender s, whose message is there */
    right = (got[s] < N && slots == size[s * N + got[s]]);
    assert(right);
#ifdef BUG_CREDIT_BEFORE_READ
    give_back();
#endif
    atomic { i = in[s]; l = due[s]; k = 0 };
    do
    :: k < slots ->
        atomic {
#ifdef BUG_STAMP_NOT_ACQUIRED
            right = ((k == 0 -> early : word[PAYLOAD(s, i)]) == CONTENT(got[s], k));
#else
            right = (word[PAYLOAD(s, i)] == CONTENT(got[s], k));
#endif
            assert(right);
            k++;
            step_to_the_next_slot()
        }
    :: else -> break
    od;
    atomic { in[s] = i; due[s] = l; got[s] = got[s] + 1; i = 0; l = 0; k = 0 };
#ifndef BUG_CREDIT_BEFORE_READ
    give_back();
#endif
    atomic { slots = 0; s = 0 }
}

proctype Receiver() {
    byte s, k, i, l, slots, early;
    byte in[P], due[P], got[P], taken[P], published[P];
    bool right;
    atomic {
        do
        :: s < P -> due[s] = 1; s++
        :: else -> break
        od;
        s = 0
    };
    do
#ifdef BUG_STAMP_NOT_ACQUIRED
    :: early = word[PAYLOAD(0, in[0])];
        atomic { THERE(0) -> s = 0; slots = SLOTS(word[FIRST(0, in[0])]) };
        take()
#else
    :: atomic { THERE(0) -> s = 0; slots = SLOTS(word[FIRST(0, in[0])]) }; take()
#endif
#if P > 1
    :: atomic { THERE(1) -> s = 1; slots = SLOTS(word[FIRST(1, in[1])]) }; take()
    :: ENDED(0) && ENDED(1) && !THERE(0) && !THERE(1) -> break
#else
    :: ENDED(0) && !THERE(0) -> break
#endif
    od
}

proctype Killer() {
    byte s;
    do
    :: kills < KILLS -> atomic { select(s : 0 .. P - 1); doomed[s] = true; kills++ }
    :: break
    od
}

init {
    byte s;
    atomic {
        do
        :: s < P -> run Sender(s); run Memory(s); s++
        :: else -> break
        od;
        s = 0;
        run Memory(P);
        run Receiver();
#if KILLS > 0
        run Killer()
#endif
    }
}
