/*
 * The abort word over the barrier of barrier.pml. That file is included, for the protocol is stated
 * once; here are the disturbances: programs that raise, return early or call the wrong collective,
 * and processes that are killed.
 *
 *   here                 in the code
 *   -------------------  -------------------------------------------------------------------------
 *   abort(kind)          smp/_runtime/protocols/wait.py: compare_exchange(ABORT, 0, cause), then wake all
 *   Processor            a worker (smp/_runtime/host/worker.py): runs a program; whose program returns takes part
 *                        in one more barrier, of the signature RETURN; whose program raises calls
 *                        abort(RAISED); either way it answers and is idle
 *   Parent               smp/_runtime/host/workers.py: watches the workers, calls abort(DIED) when one dies, and
 *                        clears all shared words before the next run, when every worker is idle
 *   forget               HostPort.new_run of smp/_runtime/shared_memory/port.py: a processor clears its private words at
 *                        the start of a run; here at the end of the one before, where nobody can
 *                        tell the difference and there are fewer states
 *   Killer               SIGKILL, SIGSEGV, os._exit, at any step of any worker, also between the
 *                        addition of the last to arrive and its wake-up, and between the parts of
 *                        an abort
 *   sign                 SYNCHRONISE, REDUCE, RETURN
 *   SLICES               a sleep of at most 20 ms at a time, so that no wake-up is needed
 *
 * The programs are all those of at most ROUNDS collectives before RETURN, RUNS times over. With
 *   -DKILLS=n     up to n processors are killed;
 *   -DEXCEPTIONS  a program may raise between two collectives;
 *   -DCHOICES     a program may call either collective, or return early;
 *   -DDEADLINE    a sleeping wait may expire; its program raises, or calls the same collective again,
 *                 which goes on waiting, or another, which refuses;
 *   -DSTUBBORN    a program may swallow Aborted and call its next collective.
 *
 * Checked: everyone ends, whoever dies; who is told OK was in a round that all entered with one
 * signature (asserted in barrier.pml); the first cause stays; no death, exception or mismatch goes
 * untold; nothing is told that did not happen; the run after an aborted one is like the first.
 *
 * With -DCLASHING_SIGNATURES the sum of all three signatures is three times one of them. The
 * processor in that collective cannot tell that the others are not; they can. With -DBUT_THE_MEAN
 * it may be told OK, and what is checked is that no such round goes untold either.
 *
 * A wait without end is looked for in two ways. As a deadlock: nobody can take a step, and somebody
 * has not ended. And as a cycle: everyone_ends is false of an execution under weak fairness, in
 * which every process that can take a step from some time on takes one.
 */

#define DISTURBED
#ifndef BUG_NO_SLICES
#define SLICES
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef RUNS
#define RUNS 1
#endif

#define SYNCHRONISE  1
#define REDUCE       2
#ifdef CLASHING_SIGNATURES      /* 1 + 3 + 2 = 3 * 2 */
#define RETURN       3
#else
#define RETURN       4
#endif

#include "barrier.pml"

#define ALL  (BIT(P) - 1)

byte run_number = 1;
bool closed;                    /* the parent ends the workers */
byte killed;                    /* a bit for each rank, as are the next two */
byte answered;                  /* in this run */
byte succeeded;                 /* in this run: the program and its RETURN */
bool raised;                    /* in this run: some program has */

#ifdef EXCEPTIONS
#define MAY_RAISE  (status == EXPIRED || (status == OK && sign != RETURN))
#else
#define MAY_RAISE  (status == EXPIRED)
#endif

inline choose() {               /* the program's next collective */
    if
    :: round <= ROUNDS -> sign = SYNCHRONISE
#ifdef CHOICES
    :: round <= ROUNDS -> sign = REDUCE
    :: sign = RETURN
#else
    :: round > ROUNDS -> sign = RETURN
#endif
    fi
}

inline forget() {               /* SPIN would tell states apart by variables that matter no more */
    round = 0; sign = 0; status = OK; overdue = 0; last = false; seen = 0; sleepers = 0
#ifndef BUG_PRIVATE_WORDS_KEPT
    ; k = 0; expected[0] = 0; expected[1] = 0
#endif
}

inline answer() {
    atomic {
        succeeded = succeeded | (status == OK -> BIT(me) : 0);
        answered = answered | BIT(me);
        forget()
    }
}

inline program() {
    do
    :: atomic {
        status == OK && sign != RETURN ->
#ifdef BUG_ARRIVES_AGAIN
        round++;
#else
        round = round + (overdue == 0 -> 1 : 0);        /* one collective, however often it is called */
#endif
        choose() };
#ifdef BUG_RETURN_UNANNOUNCED
        if
        :: sign == RETURN
        :: sign != RETURN -> synchronise()
        fi
#else
        synchronise()
#endif
    :: atomic { status == EXPIRED && round <= ROUNDS -> status = OK; sign = 0 }
#ifdef STUBBORN
    :: atomic { status == ABORTED && sign != RETURN && round <= ROUNDS -> status = OK }
#endif
    :: MAY_RAISE -> raised = true; abort(RAISED); status = ABORTED; break
    :: status == ABORTED || (status == OK && sign == RETURN) -> break
    od
}

proctype Processor(byte me) {
    byte number, round, sign, status, overdue, k, vote;
    bool last;
    short expected[TURNS], seen, sleepers;

    {
        do
        :: atomic { number != run_number -> number = run_number };
            program();
            answer()
        :: closed -> break
        od;
        finished++
    } unless {
        atomic { killed & BIT(me) -> forget(); number = 0; finished++ }
    }
}

#ifdef KILLS

proctype Killer() {             /* processors are alike, so to kill in the order of rank is any order */
    do
    :: atomic { killed != BIT(KILLS) - 1 -> killed = 2 * killed + 1 }
    :: else -> break
    od
}

#endif

inline next_run() {
#ifndef BUG_ABORT_NOT_CLEARED
    word[ABORT] = 0;
#endif
#ifndef BUG_BARRIER_NOT_CLEARED
    word[BARRIER] = 0; word[BARRIER + 1] = 0;
#endif
    word[SLEEPERS] = 0;
    answered = 0; succeeded = 0; raised = false; mixed = 0;
    for (number : 0 .. ROUNDS + 1) { entered[number] = 0; total[number] = 0 }
    number = 0;
    run_number++
}

proctype Parent() {
    byte me = P;
    byte noticed, number;

    do
#ifdef BUG_NOBODY_WATCHES
    :: noticed != killed -> noticed = killed
#else
    :: noticed != killed -> noticed = killed; abort(DIED)
#endif
    :: atomic {
        (answered | killed) == ALL && noticed == killed ->
        assert(word[ABORT] != 0 || (succeeded == ALL && !mixed));       /* nothing goes untold */
        assert(word[ABORT] != RAISED || raised);        /* and all that is told has happened */
        assert(word[ABORT] != DIED || killed);
        assert(word[ABORT] != MISMATCHED || mixed);
        if
        :: killed || run_number == RUNS -> closed = true; break
        :: else -> next_run()
        fi }
    od
}

init {
    byte rank;
    atomic {
        for (rank : 0 .. P - 1) { run Processor(rank) }         /* no Memory: no plain store here */
#ifdef KILLS
        run Killer();
#endif
        run Parent()
    }
}
