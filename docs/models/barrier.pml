/*
 * The barrier of smp/_runtime/protocols/barriers.py with its wait of smp/_runtime/protocols/wait.py: spin, then block on a futex.
 *
 *   here                          in the code
 *   ----------------------------  ----------------------------------------------------------------
 *   word[ABORT]                   0, or the first cause; each word lies on a cache line of its own
 *   word[BARRIER], ...            the words of the barrier, used in turn (TURNS of them): arrivals in
 *                                 the low bits (SHIFT of them here, 16 there), above them the votes
 *                                 (4 bits here, 16 there), and then the sum of the signatures; also
 *                                 the futexes on which waiters sleep
 *   word[SLEEPERS]                how many are about to sleep, asleep, or just woken
 *   k, left, expected[]           ROUND, LEFT and EXPECTED, private to each processor
 *   P, me, sign, vote             SIZE, rank, the signature of the collective, the vote
 *   synchronise = arrive, then    the same order of loads and additions; `status` is what they
 *   await_passed = spun, blocked  return; await_passed is _leave_one there
 *   W, due                        of the round that is left: its word, and what is expected
 *   OPENS                         OPEN, the most rounds that are open; by default 1, in which case
 *                                 left is k - 1 while a processor waits
 *   overdue                       HostPort._overdue of smp/_runtime/shared_memory/port.py: a wait has expired, its arrival
 *                                 stands, and the next call goes on waiting with the same ticket
 *   load fetch_add futex_wait     the same names in smp/_runtime/loops/atomics.py
 *
 * A step of the model touches shared memory once, as one instruction does. A system call on the
 * futex is one step, as it is in the kernel under the lock of the futex's queue.
 *
 * Memory is that of x86. A plain store goes into a buffer of its processor, of one entry here, and
 * from there into memory at any later time: whenever process Memory pleases, but before the
 * processor's next store, locked instruction or system call. Its loads do not wait for that. A
 * fetch_add and a compare_exchange write to memory at once. The protocol has no plain store; a
 * planted bug has.
 *
 * A futex wait sleeps only if the arrivals are those that the waiter has seen. An arrival that does
 * not complete the round changes them and wakes nobody: who sleeps, sleeps on. A signal or a
 * spurious wake is a wait that returns though nothing has happened. The caller looks at the words
 * and never at why it woke, so to have slept and been woken for no reason is the same as not to have
 * slept at all: this is always possible, and yet a sleeper whom nobody wakes is a deadlock, which
 * SPIN reports. The slice of 20 ms would hide it. Here a sleep has no end but a wake-up; abort.pml
 * has slices.
 *
 * Checked: P processors pass ROUNDS rounds over the same words; nobody leaves a round that some
 * have not entered; everybody learns the number of votes; every status is OK; everyone ends.
 * Planted bugs: the macros BUG_*, one at a time; those about aborts are for abort.pml.
 */

#ifndef P
#define P 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef SHIFT
#define SHIFT 4
#endif
#ifndef OPENS
#define OPENS 1
#endif
#ifdef BUG_FEW_WORDS
#define TURNS (OPENS + 1)
#else
#define TURNS (2 * OPENS)
#endif

/* The shared words, and what an empty store buffer holds. */
#define ABORT     0
#define BARRIER   1             /* and the TURNS - 1 after it */
#define SLEEPERS  (TURNS + 1)
#define NOTHING   (TURNS + 2)

#define OK        0
#define ABORTED   1
#define EXPIRED   2
#define CHANGING  3             /* not yet known */

/* Kinds of abort. */
#define RAISED      1
#define DIED        2
#define MISMATCHED  3

#define BIT(n)         (1 << (n))
#define ARRIVALS(w)    ((w) & (BIT(SHIFT) - 1))
#define VOTE           BIT(SHIFT)
#define ARRIVAL(sign)  (1 + ((sign) << (SHIFT + 4)))

#ifdef BUG_ONE_WORD
#define TURN(k)  0
#else
#define TURN(k)  ((k) % TURNS)
#endif
#if OPENS == 1
#define LEAVING  (k - 1)
#else
#define LEAVING  left
#endif
#define turn     TURN(LEAVING)
#define W        (BARRIER + turn)
#define due      expected[turn]
#define entry    TURN(k - 1)    /* of the round entered last */

#ifdef BUG_WHOLE_WORD_AWAITED
#define OVER(w)          ((w) == due)
#else
#define OVER(w)          (ARRIVALS((w) - due) == 0)
#endif

short word[TURNS + 2];
byte  held[P + 1] = NOTHING;    /* the store buffers, the parent's last: the word held back */
short value[P + 1];             /* and the value that it will get */
byte  asleep[TURNS];            /* the kernel's queues of the barrier's words: a bit for each rank */
byte  finished;                 /* how many processors have come to their end */

/* For the assertions only. A round is the n-th collective of a program. */
byte  entered[ROUNDS + 2];      /* how many have arrived in the round */
byte  total[ROUNDS + 2];        /* the sum of their signatures */
byte  voted[ROUNDS + 2];        /* the number of their votes */
byte  mixed;                    /* a bit for each round in which these differ */

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

inline store(w, v)      { d_step { drain(me); word[w] = v } }
inline fetch_add(w, v)  { d_step { drain(me); word[w] = word[w] + v } }

#ifdef SLICES

#define SEE  skip

inline futex_wake_all(which) { skip }           /* makes haste, changes nothing */

/*
 * Asleep slice after slice for as long as there is nothing to see. At the end of each slice the
 * waiter looks at both words and is back where it was, so these looks lead to no new state. The one
 * look at which the round is not over and ABORT is already set is the look before the first slice.
 */
inline futex_wait() { OVER(word[W]) || word[ABORT] != 0 }

#else

#define SEE  seen = load(W)

inline futex_wake_all(which) {
#ifdef BUG_WAKE_ONE
    d_step { drain(me); asleep[which] = asleep[which] & (asleep[which] - 1) }
#else
    d_step { drain(me); asleep[which] = 0 }
#endif
}

inline futex_wait() {
    atomic {
        drain(me);
        if
#ifdef BUG_NO_EXPECTED
        :: asleep[turn] = asleep[turn] | BIT(me)
#else
        :: ARRIVALS(word[W] - seen) == 0 -> asleep[turn] = asleep[turn] | BIT(me)
#endif
        :: true                 /* another value, a signal, or a spurious wake */
        fi;
        seen = 0
    };
    !(asleep[turn] & BIT(me))   /* until woken */
}

#endif

/* ---- smp/_runtime/protocols/wait.py ------------------------------------------------------------------------- */

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
    futex_wake_all(0);
    futex_wake_all(1)
#if TURNS > 2
    ; futex_wake_all(2);
    futex_wake_all(3)
#endif
}

inline look() {                 /* leaves the loop around it when there is something to see */
    atomic {
        if
        :: OVER(load(W)) -> status = OK; break
        :: else -> SEE
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
    :: seen = 0; break
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
#ifdef BUG_SEEN_READ_AGAIN
        seen = load(W);
#endif
        futex_wait();
#ifdef BUG_WAKE_IS_RELEASE
        status = OK;
        break
#endif
    od
}

/* ---- smp/_runtime/protocols/barriers.py ----------------------------------------------------------------------- */

/*
 * The caller's variables: byte me, round, sign, vote, status, overdue, k, left; bool last; short
 * expected[TURNS], seen, sleepers.
 */

inline expect() {               /* private words */
    status = CHANGING;
#ifdef BUG_EXPECTED_NOT_ADVANCED
    expected[TURN(k)] = P * ARRIVAL(sign);
#else
    expected[TURN(k)] = expected[TURN(k)] + P * ARRIVAL(sign);
#endif
    k++
}

inline note_arrival() {
    last = (ARRIVALS(word[BARRIER + entry] - expected[entry]) == 0);    /* before + 1 is as expected */
    mixed = mixed | (total[round] != entered[round] * sign -> BIT(round) : 0);
    entered[round] = entered[round] + 1;
    total[round] = total[round] + sign;
    voted[round] = voted[round] + vote
}

#define ADDED  (ARRIVAL(sign) + vote * VOTE)

inline add_arrival() {          /* before = fetch_add(BARRIER + entry, ADDED) */
#if defined(BUG_ARRIVALS_NOT_ATOMIC)
    seen = load(BARRIER + entry);
    d_step { drain(me); word[BARRIER + entry] = seen + ADDED; seen = 0; note_arrival() }
#elif defined(BUG_LAST_ADDS_PLAINLY)
    atomic {
        if
        :: ARRIVALS(load(BARRIER + entry) + 1 - expected[entry]) == 0 ->    /* nobody else can add any more */
            drain(me); held[me] = BARRIER + entry; value[me] = word[BARRIER + entry] + ADDED;
            last = true;
            entered[round] = entered[round] + 1;
            total[round] = total[round] + sign;
            voted[round] = voted[round] + vote
        :: else -> fetch_add(BARRIER + entry, ADDED); note_arrival()
        fi
    }
#else
    d_step { drain(me); word[BARRIER + entry] = word[BARRIER + entry] + ADDED; note_arrival() }
#endif
}

inline wake_sleepers() {
#ifndef BUG_SLEEPERS_READ_FIRST
    sleepers = load(SLEEPERS);
#endif
    if
    :: sleepers > 0 ->
        sleepers = 0;
#ifdef BUG_WAKES_THE_OTHER_WORD
        futex_wake_all(1 - entry)
#else
        futex_wake_all(entry)
#endif
    :: else
    fi
}

inline arrive() {               /* after expect() */
#if defined(BUG_WAKE_FIRST)
    wake_sleepers();
#elif defined(BUG_SLEEPERS_READ_FIRST)
    sleepers = load(SLEEPERS);
#endif
    add_arrival();
#ifndef BUG_WAKE_FIRST
    if
    :: last ->
#ifdef BUG_CLEARED_BY_THE_LAST
        store(BARRIER + entry, 0);
#endif
        wake_sleepers()
    :: else
    fi
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

#if defined(BUG_MISMATCH_IGNORED)
#define CHECKS  false
#elif defined(BUG_ONLY_THE_LAST_CHECKS)
#define CHECKS  last
#else
#define CHECKS  true
#endif

inline await_passed() {
    spun();
    if
    :: status == CHANGING ->
        announce(1);
        blocked();
        announce(-1)
    :: else
    fi;
    if
    :: status == OK && CHECKS && (load(W) - due < 0 || load(W) - due > P * VOTE) ->
#ifndef BUG_MISMATCH_UNTOLD
        abort(MISMATCHED);
#endif
#ifndef BUG_MISMATCH_PASSES
        status = ABORTED
#endif
    :: else
    fi
}

/* Who is told OK in a round of several collectives: nobody; but see CLASHING_SIGNATURES of abort.pml */
#ifdef BUT_THE_MEAN
#define MAY_PASS  (P * sign == total[round])
#else
#define MAY_PASS  false
#endif

inline leave() {
    d_step {                    /* OK says that all have entered this round, and mean the same */
        assert(status != OK || (entered[round] == P && (!(mixed & BIT(round)) || MAY_PASS)));
#ifdef VOTING
        assert(status != OK || load(W) - due == voted[round] * VOTE);
#endif
#ifndef BUG_EXPECTED_WITHOUT_VOTES
        due = (status == OK -> load(W) : due);
#endif
        last = false; seen = 0;
        overdue = (status == EXPIRED -> sign : 0)       /* the arrival stands; the ticket is kept */
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
    :: atomic { load(ABORT) == 0 && NOT_OVERDUE -> expect() };
#else
    :: atomic { NOT_OVERDUE -> expect() };
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

inline choose_vote() {
#ifdef VOTING
    if
    :: vote = 0
    :: vote = 1
    fi
#else
    skip
#endif
}

proctype Processor(byte me) {
    byte round, status, overdue, k, vote;
    byte sign = 1;
    bool last;
    short expected[TURNS], seen, sleepers;
#if OPENS == 1

    do
    :: round < ROUNDS ->
        atomic { round++; choose_vote() };
        synchronise();
        assert(status == OK)
    :: else -> break
    od;
#else
    byte left;

    do
    :: atomic { k < ROUNDS && k - left < OPENS -> round = k + 1; choose_vote(); expect() };
        arrive()
    :: atomic { left < k -> round = left + 1; status = CHANGING };
        await_passed();
        leave();
        assert(status == OK);
        left++
    :: left == ROUNDS -> break
    od;
#endif
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
