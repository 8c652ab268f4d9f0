/*
 * The barrier of smp/barrier.py, and its wait of smp/_wait.py: spin, then block on a futex.
 *
 *   here                    in the code
 *   ----------------------  -------------------------------------------------------------------
 *   word[ABORT]             0, or the first cause; every word lies on a cache line of its own
 *   word[ARRIVALS]          low bits: how many have arrived; above: the sum of their signatures
 *                           (the shift is 4 bits here, 16 in the code)
 *   word[EPOCH]             how many rounds are complete; the futex that waiters sleep on
 *   word[SLEEPERS]          how many are about to sleep, asleep, or just woken
 *   P, me                   size, rank
 *   arrive(sig)             the barrier; `status` is what it returns
 *   raise_abort(cause)      abort(cause)
 *   load fetch_add ...      the same names in smp/_atomics.py
 *
 * One step of the model touches shared memory once, as one instruction does; a system call of
 * the futex is one step, as it is in the kernel under the lock of its queue.
 *
 * Memory is that of x86. A plain (release) store goes into a buffer of the processor, and into
 * memory at any later time: before its next store, before its next locked instruction or system
 * call, or whenever process Memory pleases. Other loads do not wait for it. A sequentially
 * consistent store, fetch_add and compare_exchange write to memory at once.
 *
 * A futex wait sleeps only if the word still has the expected value. A signal or a spurious wake
 * is a wait that returns although nothing happened: as the caller looks only at the words and
 * never at why it woke, returning late and returning without having slept are the same. So such
 * wakes are always possible, and yet a sleeper whom nobody wakes is a deadlock that SPIN reports.
 * The slice of 20 ms would hide such a loss: it exists only with -DSLICES (see abort.pml).
 *
 * Checked below: all processors pass ROUNDS rounds over the same words; nobody leaves a round
 * that some have not entered; everyone is told OK; everyone ends.
 * Planted bugs: the macros BUG_*, one at a time. scripts/models runs all; README.md lists them.
 */

#ifndef P
#define P 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

/* The shared words, and what a store buffer holds when it is empty. */
#define ABORT     0
#define ARRIVALS  1
#define EPOCH     2
#define SLEEPERS  3
#define NOTHING   4

/* What arrive returns; WAITING while it has not. */
#define WAITING   0
#define OK        1
#define ABORTED   2
#define TIMED_OUT 3

/* Causes of an abort. */
#define MISMATCH  1
#define DIED      2
#define RAISED    3
#define LATE      4

#define SHIFT           4
#define ARRIVAL(sig)    (1 + ((sig) << SHIFT))
#define COUNT(total)    ((total) & 15)
#define SUM(total)      ((total) >> SHIFT)
#define BIT(rank)       (1 << (rank))

short word[4];
byte  held[P + 1] = NOTHING;    /* the store buffers, the parent's last: which word is held back */
short value[P + 1];             /* and the value that it will get */
byte  asleep;                   /* the kernel's queue of EPOCH, a bit for each rank */
byte  finished;                 /* how many processors have ended, well or not */

/* What the assertions need to know of each round; no part of the protocol. */
byte  entered[ROUNDS + 2];      /* how many have arrived in it */
byte  first_sig[ROUNDS + 2];    /* with which signature the first of them */
byte  mixed;                    /* and a bit for each round in which another's differs */

/* ---- the machine ------------------------------------------------------------------------- */

inline drain(rank) {
    if
    :: held[rank] != NOTHING -> word[held[rank]] = value[rank]; held[rank] = NOTHING; value[rank] = 0
    :: else
    fi
}

#define load(w)  (held[me] == w -> value[me] : word[w])

inline store_release(w, v) {
    d_step { drain(me); held[me] = w; value[me] = v }
}

inline store(w, v) {            /* sequentially consistent */
    d_step { drain(me); word[w] = v }
}

inline fetch_add(w, v) {
    d_step { drain(me); word[w] = word[w] + v }
}

#ifdef SLICES                   /* who sleeps 20 ms at most needs no queue: a wake-up is but haste */

inline futex_wake_all() { d_step { drain(me) } }

inline futex_wait(expected) {
    if
    :: true                     /* woken, interrupted, or at the end of a slice */
    :: true ->                  /* or slice after slice, as long as there is nothing to see */
        word[EPOCH] != expected || word[ABORT] != 0
    fi
}

#else

inline futex_wake_all() {
#ifdef BUG_WAKE_ONE
    d_step { drain(me); asleep = asleep & (asleep - 1) }
#else
    d_step { drain(me); asleep = 0 }
#endif
}

inline futex_wait(expected) {
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

/* ---- abort ------------------------------------------------------------------------------- */

inline set_cause(cause) {       /* the first cause stays: nobody may write over it */
    assert(word[ABORT] == 0);
    word[ABORT] = cause
}

inline raise_abort(cause) {
#if defined(BUG_ABORT_STORE)
    d_step { drain(me); set_cause(cause) };
#elif defined(BUG_ABORT_TEST_THEN_STORE)
    if
    :: load(ABORT) == 0 -> d_step { drain(me); set_cause(cause) }
    :: else
    fi;
#else
    d_step {                    /* compare_exchange(ABORT, 0, cause) */
        drain(me);
        if
        :: word[ABORT] == 0 -> set_cause(cause)
        :: else
        fi
    };
#endif
    futex_wake_all()
}

/* ---- the barrier ------------------------------------------------------------------------- */

/* The caller's variables: byte me, round, sig, status; short epoch, before, sleepers. */

inline note_arrival() {
    if
    :: entered[round] == 0 -> first_sig[round] = sig
    :: else -> mixed = mixed | (first_sig[round] != sig -> BIT(round) : 0)
    fi;
    entered[round] = entered[round] + 1
}

inline add_arrival() {
#ifdef BUG_ARRIVALS_NOT_ATOMIC
    before = load(ARRIVALS);
    d_step { drain(me); word[ARRIVALS] = before + ARRIVAL(sig); note_arrival() }
#else
    d_step { drain(me); before = word[ARRIVALS]; word[ARRIVALS] = before + ARRIVAL(sig); note_arrival() }
#endif
}

inline publish() {
#if defined(BUG_SLEEPERS_READ_FIRST)
    sleepers = load(SLEEPERS);
    store(EPOCH, epoch + 1);
#elif defined(BUG_RELEASE_STORE)
    store_release(EPOCH, epoch + 1);
    sleepers = load(SLEEPERS);
#else
    store(EPOCH, epoch + 1);
    sleepers = load(SLEEPERS);
#endif
    if
    :: sleepers > 0 -> futex_wake_all()
    :: else
    fi;
    sleepers = 0
}

inline reset_arrivals() {
#ifdef BUG_RESET_COUNT_ONLY
    store_release(ARRIVALS, (SUM(before) + sig) << SHIFT)
#else
    store_release(ARRIVALS, 0)
#endif
}

inline release() {              /* the last arriver */
#ifndef BUG_RESET_AFTER_PUBLISHING
    reset_arrivals();
#endif
    if
#ifndef BUG_MISMATCH_IGNORED
    :: SUM(before) + sig != P * sig ->
#ifdef BUG_MISMATCH_ADVANCES
        publish();
#endif
        raise_abort(MISMATCH);
        status = ABORTED
#endif
    :: else ->
        publish();
#ifdef BUG_RESET_AFTER_PUBLISHING
        reset_arrivals();
#endif
        status = OK
    fi
}

inline look() {                 /* ends the caller's loop; EPOCH first: a complete round is OK */
    atomic {
        if
        :: load(EPOCH) != epoch -> status = OK; break
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

inline wait() {                 /* everyone but the last */
    do                          /* spin: any number of retries, none included */
    :: look()
    :: break
    od;
    if
    :: status == WAITING ->
        announce(1);
        do
        :: futex_wait(epoch);
#ifdef BUG_WAKE_IS_RELEASE
           status = OK;
           break
#else
           look()
#endif
#ifdef DEADLINE
        :: status = TIMED_OUT;
#ifdef AMENDED
           raise_abort(LATE);
#endif
           break
#endif
        od;
        announce(-1)
    :: else
    fi
}

inline join() {
#if defined(BUG_ONE_GENERATION)
    add_arrival();
#elif defined(BUG_EPOCH_READ_LATE)
    add_arrival();
    epoch = load(EPOCH);
#else
    epoch = load(EPOCH);
    add_arrival();
#endif
    if
    :: COUNT(before) == P - 1 -> release()
    :: else -> wait()
    fi;
    d_step {                    /* leaving: OK means that all have entered this round, and agree */
        assert(status != OK || (entered[round] == P && !(mixed & BIT(round))));
        epoch = 0;
        before = 0
    }
}

inline arrive() {
    status = WAITING;
#ifdef AMENDED
    status = (load(ABORT) != 0 -> ABORTED : WAITING);
#endif
    if
    :: status == WAITING -> join()
    :: else
    fi
}

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

/* ---- undisturbed processors -------------------------------------------------------------- */

#ifndef DISTURBED               /* abort.pml has its own */

proctype Processor(byte me) {
    byte round, status;
    byte sig = 1;
    short epoch, before, sleepers;

    do
    :: round < ROUNDS ->
        round++;
        arrive();
        assert(status == OK)    /* undisturbed, nobody sees an abort */
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
