/*
 * The abort word over the barrier of barrier.pml, which is included: the protocol is written once.
 *
 *   here                    in the code
 *   ----------------------  -------------------------------------------------------------------
 *   raise_abort(cause)      abort(cause): compare_exchange(ABORT, 0, cause), then wake all
 *   Parent                  the process that watches the workers and calls abort(DIED)
 *   Killer                  SIGKILL, SIGSEGV, os._exit: any processors, at any step, even between
 *                           the fetch_add and the store of one arrival; what is in a dead
 *                           processor's store buffer still reaches memory
 *   sig                     which collective: BARRIER, REDUCE, or RETURN: the exit barrier, in
 *                           which every processor arrives whose program returns
 *   -DSLICES                the futex sleeps at most 20 ms at a time: a wait may always return
 *
 * The programs are all programs of at most ROUNDS collectives. With
 *   -DKILLS       any processors are killed at any step;
 *   -DEXCEPTIONS  a program may raise wherever it is not in a collective: abort(RAISED);
 *   -DCHOICES     a program may call either collective, or return early;
 *   -DDEADLINE    a sleeping wait may time out, and the program then raises;
 *   -DSTUBBORN    a program may swallow Aborted and WaitTimeout and call the next collective.
 *
 * Checked here: everyone ends, though any processors die (under weak fairness: who can take a
 * step takes one some day); a round that returns OK was entered by all, with the same signature
 * (asserted in barrier.pml); the first cause stays; no death, exception or mismatch goes untold;
 * no abort is raised without its cause.
 */

#define DISTURBED
#ifndef BUG_NO_SLICES
#define SLICES
#endif

#define BARRIER  1
#define REDUCE   2
#ifdef CLASHING_SIGNATURES      /* 1 + 3 + 2 = 3 * 2: a sum that hides a mismatch of three */
#define RETURN   3
#else
#define RETURN   4
#endif
#define RAISE    0

#ifndef ROUNDS
#define ROUNDS   1
#endif

#include "barrier.pml"

byte killed;                    /* a bit for each rank */
bool raised;                    /* some program raised */
byte returned;                  /* how many programs ended well */

inline choose() {               /* what the program does next */
    if
    :: round <= ROUNDS -> sig = BARRIER
#ifdef CHOICES
    :: round <= ROUNDS -> sig = REDUCE
    :: sig = RETURN
#else
    :: round > ROUNDS -> sig = RETURN
#endif
#ifdef EXCEPTIONS
    :: sig = RAISE
#endif
    fi
}

inline exception() {
    raised = true;
    raise_abort(RAISED);
    status = ABORTED
}

inline end() {                  /* with its variables cleared, which SPIN would tell apart */
    round = 0; sig = 0; status = 0; epoch = 0; before = 0; sleepers = 0;
    finished++
}

proctype Processor(byte me) {
    byte round, sig;
    byte status = OK;
    short epoch, before, sleepers;

    {
        do
        :: atomic { status == OK && sig != RETURN -> round++; choose() };
            if
            :: sig == RAISE -> exception()
#ifdef BUG_RETURN_UNANNOUNCED
            :: sig == RETURN -> status = OK
            :: sig != RAISE && sig != RETURN -> arrive()
#else
            :: sig != RAISE -> arrive()
#endif
            fi
#ifdef STUBBORN
        :: status != OK && round <= ROUNDS && sig != RETURN && sig != RAISE -> status = OK
#endif
        :: status == TIMED_OUT -> exception()
        :: status == ABORTED || (status == OK && sig == RETURN) -> break
        od;
        atomic { returned = returned + (status == OK -> 1 : 0); end() }
    } unless {
        atomic { killed & BIT(me) -> asleep = asleep & ~BIT(me); end() }
    }
}

#ifdef KILLS
proctype Killer() {
    byte kills;
    do
    :: kills < KILLS -> atomic {
        if
        :: killed = killed | BIT(0)
        :: killed = killed | BIT(1)
#if P > 2
        :: killed = killed | BIT(2)
#endif
        fi;
        kills++ }
    :: else -> break
    od
}
#endif

proctype Parent() {
    byte me = P;
    byte noticed;

    do
#ifndef BUG_NOBODY_WATCHES
    :: noticed != killed ->
        noticed = killed;
        raise_abort(DIED)
    :: finished == P && noticed == killed -> break
#else
    :: finished == P -> break
#endif
    od;
    atomic {
        assert(word[ABORT] != 0 || returned == P);      /* nothing goes untold */
        assert(word[ABORT] != DIED || killed);          /* and nothing is told without its cause */
        assert(word[ABORT] != RAISED || raised);
        assert(word[ABORT] != MISMATCH || mixed)
    }
}

init {
    byte rank;
    atomic {
        for (rank : 0 .. P - 1) { run Processor(rank) }
        run Memory();
#ifdef KILLS
        run Killer();
#endif
        run Parent()
    }
}
