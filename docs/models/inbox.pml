/*
 * The inboxes of smp/_runtime/protocols/inboxes.py and the sleeps of message_waits.py: P senders, one
 * receiver, and a ring from each sender; a sender sleeps for room, and the receiver for packets.
 *
 *   here                          in the code
 *   ----------------------------  ----------------------------------------------------------------
 *   word[me]                      of a sender: the packets that it has posted to its ring
 *   word[P + s]                   the slots of that ring which the receiver has given back
 *   stored[]                      the same, as the processor that stores them knows them
 *   events[], asleep[]            EVENTS and ASLEEP of the inbox of a processor; the last is the receiver's
 *   sleeping[]                    the processor is in futex_wait on its EVENTS
 *   change                        the store of post, of take or of publish, then announce
 *   fence_all                     the primitive: a fence on the CPUs of all processors
 *   sleep                         await_event, from begin_sleep to end_sleep
 *   fenced(me)                    FENCE of the processor is above 0
 *
 * A step of the model touches shared memory once, as one instruction does. What a ring holds is in
 * ring.pml; here a packet is a number, so a ring is a word that only grows. No sleep has a slice, so a
 * lost wake-up is a deadlock.
 *
 * Memory is that of an x86: a store goes into a buffer of its processor, and leaves it at any later
 * time, in order. Only the stores to rings are such stores. ASLEEP is stored, and EVENTS is raised, by
 * locked instructions, which empty the buffer first. A buffer holds stores to one ring's word, whose
 * values grow by one, so it is the difference between stored and word; the buffer of the receiver
 * holds those to the words of all rings, in any order, which is weaker than an x86.
 *
 * FENCED is a mask of the processors that make a full fence themselves; fence_all does not reach them.
 * CROWDED is a machine whose waits do not spin: all make full fences themselves, and no sleeper calls
 * fence_all.
 *
 * Checked: everyone ends, so no wake-up is lost. Planted bugs: the macros that begin with BUG, one at
 * a time.
 */

#ifndef P
#define P 1
#endif
#ifndef S
#define S 1                     /* slots of a ring */
#endif
#ifndef N
#define N 3                     /* packets of each sender */
#endif
#ifdef CROWDED
#define FENCED 255
#endif
#ifndef FENCED
#define FENCED 0
#endif

#define ME_TO(s)    (P + (s))   /* the word in which the receiver gives slots of sender s back */
#define fenced(me)  (FENCED >> (me) & 1)

byte word[2 * P], stored[2 * P];
byte events[P + 1];
bit asleep[P + 1], sleeping[P + 1];

/* ---- the memory ---------------------------------------------------------------------------- */

proctype Memory(byte which) {   /* a store leaves its buffer */
end:
    do
    :: atomic { word[which] < stored[which] -> word[which]++ }
    od
}

inline drain(me) {              /* a full fence of processor me; part of a step */
    if
    :: me < P -> word[me] = stored[me]
    :: else ->
        i = 0;
        do
        :: i < P -> word[ME_TO(i)] = stored[ME_TO(i)]; i++
        :: else -> break
        od;
        i = 0
    fi
}

inline fence_all() {            /* CPU after CPU */
    do
    :: k <= P ->
        atomic {
            if
            :: fenced(k)
            :: else -> drain(k)
            fi;
            k++
        }
    :: else -> k = 0; break
    od
}

/* ---- smp/_runtime/protocols/message_waits.py ------------------------------------------------ */

inline notify(other) {
    if
    :: asleep[other] ->
#ifndef BUG_EVENT_NOT_COUNTED
        atomic { drain(me); events[other]++ };
#endif
        atomic { drain(me); sleeping[other] = 0 }
    :: else
    fi
}

inline change(which, other) {
#ifdef BUG_INBOX_LOOKED_AT_FIRST
    atomic {
        drain(me);
        seen = asleep[other]
    };
    stored[which]++;
    if
    :: seen -> atomic { drain(me); events[other]++; sleeping[other] = 0 }
    :: else
    fi
#else
    stored[which]++;
    if
    :: fenced(me) -> atomic { drain(me) }
    :: else
    fi;
    notify(other)
#endif
}

#define ROOM(me)  (stored[me] - word[ME_TO(me)] < S)
#define THERE(s)  (word[s] > stored[ME_TO(s)])

inline look() {                 /* for room, or for a packet, one ring after the other */
    if
    :: me < P -> there = ROOM(me)
    :: else ->
        there = THERE(0);
#if P > 1
        if
        :: there
        :: else -> atomic { s = 1; there = THERE(1) }
        fi
#endif
    fi
}

inline announce_sleep() {
    atomic { drain(me); asleep[me] = 1 }
}

inline sleep() {                /* until look finds something */
#ifdef BUG_FENCE_BEFORE_ASLEEP
    fence_all();
    announce_sleep();
#else
#ifndef BUG_ASLEEP_AFTER_LOOK
    announce_sleep();
#if !defined(BUG_NO_HEAVY_FENCE) && !defined(CROWDED)
    fence_all();
#endif
#endif
#endif
    do
    ::
#ifndef BUG_EVENTS_READ_AFTER_LOOK
        seen = events[me];
#endif
        look();
        if
        :: there -> break
        :: else ->
            s = 0;
#ifdef BUG_ASLEEP_AFTER_LOOK
            announce_sleep();
            fence_all();
#endif
#ifdef BUG_EVENTS_READ_AFTER_LOOK
            seen = events[me];
#endif
            atomic {
                if
                :: events[me] == seen -> sleeping[me] = 1
                :: else
                fi
            };
            sleeping[me] == 0
        fi
    od;
    atomic { there = 0; seen = 0; drain(me); asleep[me] = 0 }
}

proctype Sender(byte me) {
    byte i, k, s, seen;
    bit there;
    do
    :: stored[me] < N ->
        look();
        if
        :: there -> there = 0
        :: else -> sleep()
        fi;
        change(me, P)
    :: else -> break
    od
}

proctype Receiver() {
    byte i, k, s, seen, taken, me = P;
    bit there;
    do
    :: taken < P * N ->
        look();
        if
        :: there -> there = 0
        :: else -> sleep()
        fi;
        change(ME_TO(s), s);
        atomic { s = 0; taken++ }
    :: else -> break
    od
}

init {
    byte s;
    atomic {
        do
        :: s < P -> run Sender(s); run Memory(s); run Memory(ME_TO(s)); s++
        :: else -> break
        od;
        s = 0;
        run Receiver()
    }
}
