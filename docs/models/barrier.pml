/*
 * The barrier of smp/barrier.py with its wait of smp/_wait.py: spin, then block on a futex.
 *
 *   here                          in the code
 *   ----------------------------  ----------------------------------------------------------------
 *   word[ABORT]                   0, or the first cause; each word lies on a cache line of its own
 *   word[ARRIVALS]                how many have arrived in the low bits (4 here, 16 there); above
 *                                 them the sum of their signatures
 *   word[EPOCH]                   how many rounds are complete; the futex on which waiters sleep
 *   word[SLEEPERS]                how many are about to sleep, asleep, or just woken
 *   P, me, sign                   SIZE, rank, the signature of the collective
 *   synchronise = arrive, then    the same names, the same order of loads and stores; `status` is
 *   await_passed = spun, blocked  what they return; `expected` is the epoch that arrive returns
 *   overdue                       HostPort._overdue of smp/_host.py: a wait has expired, its arrival
 *                                 stands, and the next call goes on waiting with the same ticket
 *   load fetch_add futex_wait     the same names in smp/_atomics.py
 *
 * A step of the model touches shared memory once, as one instruction does. A system call on the
 * futex is one step, as it is in the kernel under the lock of the futex's queue.
 *
 * Memory is that of x86. A plain store goes into a buffer of its processor, of one entry here, and
 * from there into memory at any later time: whenever process Memory pleases, but before the
 * processor's next store, locked instruction or system call. Its loads do not wait for that. A
 * sequentially consistent store, fetch_add and compare_exchange write to memory at once.
 * The code's stores are all sequentially consistent. ARRIVALS is cleared by a plain one here: the
 * protocol does not need more.
 *
 * A futex wait sleeps only if the word still has the expected value. A signal or a spurious wake is
 * a wait that returns though nothing has happened. The caller looks at the words and never at why
 * it woke, so to have slept and been woken for no reason is the same as not to have slept at all:
 * this is always possible, and yet a sleeper whom nobody wakes is a deadlock, which SPIN reports.
 * The slice of 20 ms would hide it. Here a sleep has no end but a wake-up; abort.pml has slices.
 *
 * Checked: P processors pass ROUNDS rounds over the same words; nobody leaves a round that some
 * have not entered; every status is OK; everyone ends.
 * Planted bugs: the macros BUG_*, one at a time; those about aborts are for abort.pml.
 */

#ifndef P
#define P 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

/* The shared words, and what an empty store buffer holds. */
#define ABORT     0
#define ARRIVALS  1
#define EPOCH     2
#define SLEEPERS  3
#define NOTHING   4

#define OK        0
#define ABORTED   1
#define EXPIRED   2
#define CHANGING  3             /* not yet known */

/* Kinds of abort. */
#define RAISED      1
#define DIED        2
#define MISMATCHED  3

#define SHIFT          4
#define COUNT(total)   ((total) & 15)
#define SUM(total)     ((total) >> SHIFT)
#define ARRIVAL(sign)  (1 + ((sign) << SHIFT))
#define BIT(n)         (1 << (n))

short word[4];
byte  held[P + 1] = NOTHING;    /* the store buffers, the parent's last: the word held back */
short value[P + 1];             /* and the value that it will get */
byte  asleep;                   /* the kernel's queue of EPOCH: a bit for each rank */
byte  finished;                 /* how many processors have come to their end */

/* For the assertions only. A round is the n-th collective of a program. */
byte  entered[ROUNDS + 2];      /* how many have arrived in the round */
byte  first_sign[ROUNDS + 2];   /* with which signature the first of them */
byte  mixed;                    /* a bit for each round in which another's differs */

/* ---- the machine -------------------------------------------------------------------------- */

inline drain(rank) {
    if
    :: held[rank] != NOTHING ->
        word[held[rank]] = value[rank];
        held[rank] = NOTHING;
        value[rank] = 0
    :: else
    fi
}

#define load(w)  (held[me] == w -> value[me] : word[w])

inline store(w, v)       { d_step { drain(me); word[w] = v } }
inline store_plain(w, v) { d_step { drain(me); held[me] = w; value[me] = v } }
inline fetch_add(w, v)   { d_step { drain(me); word[w] = word[w] + v } }

#ifdef SLICES

inline futex_wake_all() { d_step { drain(me) } }        /* makes haste, changes nothing else */

/*
 * Asleep slice after slice for as long as there is nothing to see. At the end of each slice the
 * waiter looks at both words and is back where it was, so these looks lead to no new state. The one
 * look at which EPOCH is still old and ABORT is already set is the look before the first slice.
 */
inline futex_wait() { word[EPOCH] != expected || word[ABORT] != 0 }

#else

inline futex_wake_all() {
#ifdef BUG_WAKE_ONE
    d_step { drain(me); asleep = asleep & (asleep - 1) }
#else
    d_step { drain(me); asleep = 0 }
#endif
}

inline futex_wait() {
    atomic {
        drain(me);
        if
#ifdef BUG_NO_EXPECTED
        :: asleep = asleep | BIT(me)
#else
        :: word[EPOCH] == expected -> asleep = asleep | BIT(me)
#endif
        :: true                 /* another value, a signal, or a spurious wake */
        fi
    };
    !(asleep & BIT(me))         /* until woken */
}

#endif

/* ---- smp/_wait.py ------------------------------------------------------------------------- */

inline set_cause(kind) {        /* the first cause stays: nobody may write over it */
    assert(word[ABORT] == 0);
    word[ABORT] = kind
}

inline abort(kind) {
#if defined(BUG_ABORT_STORE)
    d_step { drain(me); set_cause(kind) };
#elif defined(BUG_ABORT_TEST_THEN_STORE)
    if
    :: load(ABORT) == 0 -> d_step { drain(me); set_cause(kind) }
    :: else
    fi;
#else
    d_step {                    /* compare_exchange(ABORT, 0, kind) */
        drain(me);
        if
        :: word[ABORT] == 0 -> set_cause(kind)
        :: else
        fi
    };
#endif
    futex_wake_all()
}

inline look() {                 /* leaves the loop around it when there is something to see */
    atomic {
        if
        :: load(EPOCH) != expected -> status = OK; break
        :: else
        fi
    };
#ifndef BUG_ABORT_NOT_CHECKED
    atomic {
        if
        :: load(ABORT) != 0 -> status = ABORTED; break
        :: else
        fi
    }
#endif
}

inline spun() {                 /* any number of looks, none included */
    do
    :: look()
    :: break
    od
}

inline blocked() {
    do
    :: look();
#ifdef DEADLINE
        if
        :: status = EXPIRED; break
        :: true
        fi;
#endif
        futex_wait();
#ifdef BUG_WAKE_IS_RELEASE
        status = OK;
        break
#endif
    od
}

/* ---- smp/barrier.py ----------------------------------------------------------------------- */

/* The caller's variables: byte me, round, sign, status, overdue; short expected, before, sleepers. */

inline note_arrival() {
    if
    :: entered[round] == 0 -> first_sign[round] = sign
    :: else -> mixed = mixed | (first_sign[round] != sign -> BIT(round) : 0)
    fi;
    entered[round] = entered[round] + 1
}

inline add_arrival() {          /* before = fetch_add(ARRIVALS, 1 + COUNT * sign) */
#ifdef BUG_ARRIVALS_NOT_ATOMIC
    before = load(ARRIVALS);
    d_step { drain(me); word[ARRIVALS] = before + ARRIVAL(sign); note_arrival() }
#else
    d_step {
        drain(me);
        before = word[ARRIVALS];
        word[ARRIVALS] = before + ARRIVAL(sign);
        note_arrival()
    }
#endif
}

inline clear_arrivals() {
#ifdef BUG_SUM_NOT_CLEARED
    store_plain(ARRIVALS, (SUM(before) + sign) << SHIFT)
#else
    store_plain(ARRIVALS, 0)
#endif
}

inline publish() {
#if defined(BUG_SLEEPERS_READ_FIRST)
    sleepers = load(SLEEPERS);
    store(EPOCH, expected + 1);
#elif defined(BUG_PLAIN_STORE)
    store_plain(EPOCH, expected + 1);
    sleepers = load(SLEEPERS);
#else
    store(EPOCH, expected + 1);
    sleepers = load(SLEEPERS);
#endif
    if
    :: sleepers > 0 -> sleepers = 0; futex_wake_all()
    :: else
    fi
}

inline complete() {             /* the last to arrive, and only it */
#ifndef BUG_CLEARED_AFTER_PUBLISHING
    clear_arrivals();
#endif
    if
#ifndef BUG_MISMATCH_IGNORED
    :: SUM(before) + sign != P * sign ->
#ifdef BUG_MISMATCH_PUBLISHED
        publish();
#endif
        abort(MISMATCHED)
#endif
    :: else ->
        publish()
#ifdef BUG_CLEARED_AFTER_PUBLISHING
        ; clear_arrivals()
#endif
    fi
}

inline arrive() {
#ifdef BUG_EPOCH_READ_LATE
    add_arrival();
    atomic { status = CHANGING; expected = load(EPOCH) };
#else
    atomic { status = CHANGING; expected = load(EPOCH) };
    add_arrival();
#endif
#ifdef BUG_ONE_GENERATION
    expected = 0;
#endif
    if
    :: COUNT(before) == P - 1 -> complete()
    :: else
    fi
}

inline announce(change) {
#if defined(BUG_SLEEP_UNANNOUNCED)
    skip
#elif defined(BUG_SLEEPERS_NOT_ATOMIC)
    sleepers = load(SLEEPERS);
    store(SLEEPERS, sleepers + change);
    sleepers = 0
#else
    fetch_add(SLEEPERS, change)
#endif
}

inline await_passed() {
    spun();
    if
    :: status == CHANGING ->
        announce(1);
        blocked();
        announce(-1)
    :: else
    fi
}

inline leave() {
    d_step {                    /* OK says that all have entered this round, and mean the same */
        assert(status != OK || (entered[round] == P && !(mixed & BIT(round))));
        before = 0;
        if
        :: status == EXPIRED -> overdue = sign          /* the arrival stands; the ticket is kept */
        :: else -> overdue = 0; expected = 0
        fi
    }
}

#ifdef BUG_ARRIVES_AGAIN
#define NOT_OVERDUE true
#else
#define NOT_OVERDUE (overdue == 0)
#endif

inline synchronise() {
    if
#ifndef BUG_ARRIVES_ABORTED
    :: load(ABORT) != 0 -> status = ABORTED
    :: load(ABORT) == 0 && NOT_OVERDUE ->
#else
    :: NOT_OVERDUE ->
#endif
        arrive();
        await_passed();
        leave()
#ifndef BUG_ARRIVES_AGAIN
    :: overdue == sign ->       /* goes on waiting where the last wait expired */
        status = CHANGING;
        await_passed();
        leave()
    :: overdue != 0 && overdue != sign -> status = EXPIRED
#endif
    fi
}

/* ---- the processes ------------------------------------------------------------------------ */

proctype Memory() {
end:
    do
    :: d_step { held[0] != NOTHING -> drain(0) }
    :: d_step { held[1] != NOTHING -> drain(1) }
#if P > 2
    :: d_step { held[2] != NOTHING -> drain(2) }
#endif
#if P > 3
    :: d_step { held[3] != NOTHING -> drain(3) }
#endif
    od
}

ltl everyone_ends { <> (finished == P) }

#ifndef DISTURBED               /* abort.pml has processors of its own */

proctype Processor(byte me) {
    byte round, status, overdue;
    byte sign = 1;
    short expected, before, sleepers;

    do
    :: round < ROUNDS ->
        round++;
        synchronise();
        assert(status == OK)
    :: else -> break
    od;
    finished++
}

init {
    byte rank;
    atomic {
        for (rank : 0 .. P - 1) { run Processor(rank) }
        run Memory()
    }
}

#endif
