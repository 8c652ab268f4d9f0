/*
 * A full/empty cell of smp/_runtime/protocols/cell.py, its queues of records (smp/_runtime/protocols/waiters.py), the sleep of a trapped
 * waiter and the abort that ends it (smp/_runtime/protocols/wait.py).
 *
 *   here                         in the code
 *   ---------------------------  -----------------------------------------------------------------
 *   word                         the cell's state word: FULL, LOCKED, A, B, version (VERSIONS of
 *                                them here, 2^30 there)
 *   low, high                    its value word, in two halves, so that a torn value would be seen
 *   P, me, r                     streams (OS threads); the record of stream `me` is number me + 1
 *   STATUS, NUDGED               STATUS & 255, and how often an abort has added 256 to it
 *   NEXT, LAST, BITS, OP         the same fields of a record
 *   joined                       RECORDS, how many records there are: here a bit for each
 *   cause                        ABORT: 0, or the first cause
 *   deaths                       DEATHS
 *   look                         quick and attempt: load(word), compare_exchange(word, w, w | LOCKED);
 *                                see below. A writeef in quick is a change without queues
 *   read                         readff, readxx, peeked: load word, load value, load word again; and
 *                                readfe in quick, whose second look is a compare_exchange
 *   act, filled, emptied         change: what the holder of the lock does; results go into records
 *   store_value, unlock, tell    store_release(value), store_release(word), then `tell` of _records
 *   trap, sleep, withdraw        trap: begin_wait, enqueue; `sleep` of _wait; withdraw: unlink, which is
 *                                OK (mine); CHANGING (told), or ABORTED (left: the record is abandoned)
 *   LOCK_GIVEN_UP                lock() is FAILED: somebody has been killed, and it is locked
 *   abort                        the same name in smp/_runtime/protocols/wait.py
 *   Killer, Parent               SIGKILL at any step of any stream; the parent that notices it
 *
 * A step of the model touches shared memory once, as one instruction does, but for three things.
 * The holder of the lock reads and writes the queues in one step: that it is alone is asserted. A
 * look and the compare_exchange after it are one step: if the word has changed between them, the
 * compare_exchange fails and the look is thrown away; if not, what was decided on the look is right
 * at the compare_exchange, for it rests on the word alone. To look again at a locked word is to wait
 * until it is unlocked; or, once DEATHS is set, to give up after so many looks, here at any time. Of
 * the ways to do an operation, quick or under the lock, a stream may take any at each look.
 *
 * As in barrier.pml a futex may wake for no reason, which is the same as not to have slept, and a
 * sleep has no end but a wake-up: no slice hides a wake-up that is lost. Memory is sequentially
 * consistent; see README.md for why a store buffer changes nothing.
 *
 * Each stream does OPS operations out of those in its macro ONE, TWO, THREE or FOUR (the last of
 * them out of LAST_ONE, if that is defined), any of them each time, in every order. With
 *   -DFILLED      the cell is full at first;
 *   -DVERSIONS=1  no versions, and nobody who needs them: of the reads without the lock a stream may
 *                 call none, and a readfe is never quick (a writeef is: its lock needs no version);
 *   -DRETRIES=n   a wait looks up to n times more before it traps;
 *   -DDEADLINE    a wait may expire;
 *   -DKILLS=n     up to n streams are killed;
 *   -DEXCEPTIONS  a stream may raise between two operations, which aborts the run;
 *   -DSTUBBORN    a stream may swallow Aborted and go on with its next operation;
 *   -DRUNS=n      the same n times over; the parent clears ABORT between, the cell stays as it is;
 *   -DBALANCED    nobody may be left waiting; else who is left must be one who has to wait.
 *
 * Checked, beside: there is one order of all operations, each of them once, each at a moment between
 * its begin and its end, that a cell allows, and each gets the result that it has in this order
 * (`happens` states what a cell is). So each value is consumed once, none is lost and nothing tears.
 * Queues are first come, first served; who has not trapped overtakes nobody who has; whenever the
 * cell is unlocked its invariant holds: full, and only writeefs wait; or empty, and no writeef does.
 * A fill leaves none of A waiting. Whoever leaves with EXPIRED or ABORTED has done nothing and is in
 * no queue, but for abandoned records, which there are only when somebody has been killed. Everyone
 * ends, whoever is killed, wherever.
 *
 * Planted bugs: the macros BUG_*, one at a time.
 */

#ifndef P
#define P 2
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef RETRIES
#define RETRIES 0
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifndef VERSIONS
#define VERSIONS 16
#endif
#ifndef THREE
#define THREE 0
#endif
#ifndef FOUR
#define FOUR 0
#endif
#if defined(KILLS) || defined(EXCEPTIONS)
#define ABORTS
#endif

#define BIT(n)  (1 << (n))

/* Operations, and sets of them. */
#define READFE     1
#define READFF     2
#define READXX     4
#define WRITEEF    8
#define WRITEFF    16
#define WRITEXF    32
#define PURGE      64
#define FILL       128
#define FETCH_ADD  256

#define OF_A        (READFF + WRITEFF + FETCH_ADD)      /* who waits in queue A; in B, the next two */
#define NEEDS_FULL  (READFE + OF_A)
#define ANY         511
#define SUITS(w)    (((op) & NEEDS_FULL) == 0 && (op) != WRITEEF || FULL(w) == (op != WRITEEF))
#define UNLOCKED_READ  ((op & (READFF + READXX)) != 0)
#define QUICK(w)    (op == READFE && FULL(w) && VERSIONS > 1 && A(w) == 0 && B(w) == 0)
#if defined(BUG_WRITEEF_STATE_FIRST) || defined(BUG_WRITEEF_VALUE_FIRST)
#define BARE(w)     (op == WRITEEF && !FULL(w) && A(w) == 0 && B(w) == 0)
#endif

/* The state word. */
#define FULL(w)     ((w) & 1)
#define LOCKED(w)   ((w) & 2)
#define A(w)        (((w) >> 2) & 7)
#define B(w)        (((w) >> 5) & 7)
#define VERSION(w)  ((w) >> 8)
#define WORD(full, a, b, version)  ((full) + ((a) << 2) + ((b) << 5) + ((version) << 8))
#ifdef BUG_VERSION_KEPT
#define NEWER(w)    VERSION(w)
#else
#define NEWER(w)    ((VERSION(w) + 1) % VERSIONS)
#endif

#define IDLE     0              /* STATUS */
#define WAITING  1
#define SERVED   2

#define OK       0              /* how an operation ends */
#define ABORTED  1
#define EXPIRED  2

#define NONE     255            /* not yet */
#define STALE    (P + 1)        /* a link that must not be followed any more: no such record */

#ifdef FILLED
int  word = 1;
#else
int  word;
#endif
byte low, high;
byte STATUS[P + 2], NUDGED[P + 2];
byte NEXT[P + 2] = STALE, LAST[P + 2] = STALE;
byte BITS[P + 2];
short OP[P + 2];
byte joined;
byte cause;
bool deaths;

byte asleep;                    /* the kernel's queues: a bit for each stream that sleeps on its STATUS */
byte killed;                    /* a bit for each stream */
byte answered;                  /* a bit for each stream that has come to the end of this run */
byte finished;                  /* how many will do nothing any more */
byte run_number = 1;
bool closed;                    /* there is no further run */
bool over;                      /* nobody can do anything any more, and rightly so */

/* For the assertions only: the cell as it ought to be, and who has queued. */
byte holder;                    /* the record of who has the lock, 0 for nobody */
#ifdef FILLED
bool is_full = true;
#else
bool is_full;
#endif
byte content;
byte given[P + 2] = NONE;       /* the result of each operation that has happened and not ended */
byte queued;                    /* a bit for each record */
byte earlier[P + 2];            /* those who have queued before and wait in the same queue */
byte abandoned;                 /* a bit for each record whose stream has given up to withdraw it */

#define QUEUED(r, ops)  (((queued >> (r)) & 1) != 0 && (OP[r] & (ops)) != 0)
/* The records of those who wait in such an operation, and whether there are any. */
#if P == 2
#define WHO_QUEUED(ops)  (QUEUED(1, ops) * 2 + QUEUED(2, ops) * 4)
#elif P == 3
#define WHO_QUEUED(ops)  (QUEUED(1, ops) * 2 + QUEUED(2, ops) * 4 + QUEUED(3, ops) * 8)
#else
#define WHO_QUEUED(ops)  (QUEUED(1, ops) * 2 + QUEUED(2, ops) * 4 + QUEUED(3, ops) * 8 + QUEUED(4, ops) * 16)
#endif
#define ANY_QUEUED(ops)  (WHO_QUEUED(ops) != 0)

/* What a cell is: operation `o` of record `r`, which brings `x` and gets `y`. */
inline happens(who, o, x, y) {
    assert(given[who] == NONE && o != 0);         /* once, and only when its stream has asked for it */
    given[who] = y;
    if
    :: o == READFE -> assert(is_full && content == y); is_full = false
    :: o == READFF -> assert(is_full && content == y)
    :: o == READXX -> assert(content == y)
    :: o == WRITEEF -> assert(!is_full && y == 0); is_full = true; content = x
    :: o == WRITEFF -> assert(is_full && y == 0); content = x
    :: o == WRITEXF -> is_full = true; content = x
    :: o == PURGE -> is_full = false; content = x
    :: o == FILL -> is_full = true
    :: o == FETCH_ADD -> assert(is_full && content == y); content = content + x
    fi
}

inline left_queue(parted) {
    queued = queued & ~BIT(parted);
    earlier[1] = earlier[1] & ~BIT(parted); earlier[2] = earlier[2] & ~BIT(parted);
#if P > 2
    earlier[3] = earlier[3] & ~BIT(parted);
#endif
#if P > 3
    earlier[4] = earlier[4] & ~BIT(parted);
#endif
    earlier[parted] = 0
}

#define ABANDONED(r)  (((abandoned >> (r)) & 1) != 0)
#ifndef BUG_ABANDONED_RECORD_WAITS
#define LEFT_IN_A_QUEUE ABANDONED(me + 1)               /* its operation was not cleared: it waits no more */
#else
#define LEFT_IN_A_QUEUE false
#endif
#define OPERATION(r)  (ABANDONED(r) -> 0 : r)           /* what its stream does now is something else */

/* A waiter in a queue is served: nobody who came before it, and waits in the same queue, is passed over. */
inline serve(waiter, gets) {
    assert(QUEUED(waiter, ANY));
    assert(earlier[waiter] == 0);
    happens(OPERATION(waiter), OP[waiter], BITS[waiter], gets);
    given[0] = NONE;
    left_queue(waiter)
}

/* ---- the lock ----------------------------------------------------------------------------- */

#ifdef BUG_GIVES_UP_ON_THE_LIVING
#define GIVES_UP  (cause != 0)
#else
#define GIVES_UP  deaths
#endif
#ifdef BUG_LOCK_AWAITED_FOR_EVER
#define LOCK_GIVEN_UP  false
#else
#define LOCK_GIVEN_UP  (LOCKED(word) && GIVES_UP)
#endif
#ifdef BUG_WITHDRAWAL_WAITS_FOR_EVER
#define WITHDRAWAL_GIVEN_UP  false
#else
#define WITHDRAWAL_GIVEN_UP  LOCK_GIVEN_UP
#endif

inline take_lock() {            /* of a word that is not locked */
    w = word;
    word = word | 2;
    holder = me + 1
}

inline alone() { assert(holder == me + 1) }

inline unlock() {               /* store_release(word, w, version + 1) */
    alone();
    holder = 0;
    assert(!ANY_QUEUED((FULL(w) -> NEEDS_FULL : WRITEEF)));     /* the invariant */
    assert((A(w) != 0) == ANY_QUEUED(OF_A));
    assert((B(w) != 0) == ANY_QUEUED(READFE + WRITEEF));
    assert((FULL(w) != 0) == is_full);
    word = WORD(FULL(w), A(w), B(w), NEWER(word));
    w = 0
}

/* ---- queues of records: smp/_runtime/protocols/waiters.py ---------------------------------------------------- */

inline enqueue(front, one) {      /* leaves the first of the queue in `front` */
#ifndef BUG_NEXT_NOT_CLEARED
    NEXT[one] = 0;
#endif
#ifdef BUG_LAST_IN_FIRST_OUT
    NEXT[one] = front; LAST[one] = (front == 0 -> one : LAST[front]); front = one
#else
    if
    :: front == 0 -> LAST[one] = one; front = one
    :: else -> NEXT[LAST[front]] = one; LAST[front] = one
    fi
#endif
}

inline behead(head, rest) {    /* leaves the first of what remains in `rest` */
    rest = NEXT[head];
    if
#ifndef BUG_LAST_NOT_INHERITED
    :: rest != 0 -> LAST[rest] = LAST[head]
#endif
    :: else
    fi
}

inline unlink(begin, which, found) {        /* and the begin of the rest in `begin`; uses `after` */
    found = true;
    if
    :: begin == which -> behead(which, begin)
    :: else ->
        after = begin;
        do
        :: after != 0 && NEXT[after] != which -> assert(after != STALE); after = NEXT[after]
        :: else -> break
        od;
        if
        :: after != 0 ->
            NEXT[after] = NEXT[which];
#ifndef BUG_LAST_UNLINKED
            LAST[begin] = (LAST[begin] == which -> after : LAST[begin])
#endif
        :: else -> found = false
        fi;
        after = 0
    fi
}

/* ---- under the lock ----------------------------------------------------------------------- */

/*
 * `v` is the value, which is stored at the end; `chain` the first of those served, linked by NEXT.
 */

inline first_of_b(its) {     /* takes it off, and puts it behind those served */
    r = B(w);
    serve(r, its);
    behead(r, after);
    w = WORD(FULL(w), A(w), after, 0);
#if !defined(BUG_RESULT_AFTER_TELLING)
    BITS[r] = its;
#endif
    NEXT[r] = 0;
    if
    :: chain == 0 -> chain = r
    :: else -> NEXT[LAST[chain]] = r
    fi;
    r = 0; after = 0
}

#ifdef BUG_ONE_READFF
#define TO_SERVE  (r != 0 && r == chain)
#else
#define TO_SERVE  (r != 0)
#endif

inline filled() {               /* the cell has become full */
#ifndef BUG_READFE_ALONE
    r = A(w);
    chain = r;
    do
    :: TO_SERVE ->
        after = (OP[r] == WRITEFF -> 0 : v);            /* its result */
        serve(r, after);
        v = (OP[r] == WRITEFF -> BITS[r] : (OP[r] == FETCH_ADD -> v + BITS[r] : v));
        BITS[r] = after;
        r = NEXT[r]
    :: else -> break
    od;
    w = WORD(FULL(w), r, B(w), 0);
    r = 0; after = 0;
#endif
    assert(!ANY_QUEUED(OF_A));
    if
    :: B(w) != 0 ->
        first_of_b(v);
#ifdef BUG_TWO_READFES
        if
        :: B(w) != 0 -> first_of_b(v)
        :: else
        fi;
#endif
        w = WORD(0, A(w), B(w), 0)
    :: else -> w = WORD(1, A(w), 0, 0)
    fi
}

inline emptied() {              /* the cell has become empty */
    if
#ifndef BUG_WRITEEF_LEFT_WAITING
    :: B(w) != 0 -> v = BITS[B(w)]; first_of_b(0)
#endif
    :: else -> w = WORD(0, A(w), B(w), 0)
    fi
}

inline act() {
    d_step {
        alone();
        v = low;
        result = 0;
        assert(v == high && v == content);
        assert((op & NEEDS_FULL) == 0 || !ANY_QUEUED(op == READFE -> READFE : OF_A));   /* overtakes nobody */
        assert(op != WRITEEF || !ANY_QUEUED(WRITEEF));
        if
        :: op == READFE -> happens(me + 1, op, 0, v); result = v; emptied()
        :: UNLOCKED_READ -> happens(me + 1, op, 0, v); result = v       /* it came upon the lock */
        :: op == WRITEFF -> happens(me + 1, op, bits, 0); v = bits
        :: op == FETCH_ADD -> happens(me + 1, op, bits, v); result = v; v = v + bits
        :: op == PURGE ->
            result = FULL(w) && B(w) != 0;
            happens(me + 1, op, bits, result);
            v = bits;
            if
            :: FULL(w) -> emptied()
            :: else
            fi
        :: op == WRITEXF || op == WRITEEF || op == FILL ->
            happens(me + 1, op, bits, 0);
            v = (op == FILL -> v : bits);
            if
            :: !FULL(w) -> filled()
            :: else
            fi
        fi
    }
}

inline store_value() {
    if
    :: d_step { v != low -> low = v }; high = v
    :: d_step { v == low -> high = v }
    fi
}

/* From SERVED on a record is its own stream's again, so the link is read before. */
inline tell() {
    do
    :: chain != 0 -> assert(chain != STALE);
#if defined(BUG_WOKEN_BEFORE_SERVED)
        asleep = asleep & ~BIT(chain - 1);
        d_step { r = NEXT[chain]; STATUS[chain] = SERVED; NUDGED[chain] = 0; chain = r; r = 0 }
#elif defined(BUG_LINK_READ_AFTER_TELLING)
        d_step { STATUS[chain] = SERVED; NUDGED[chain] = 0 };
        asleep = asleep & ~BIT(chain - 1);
        chain = NEXT[chain]
#elif defined(BUG_WAKES_NOBODY)
        d_step { r = NEXT[chain]; STATUS[chain] = SERVED; NUDGED[chain] = 0; chain = r; r = 0 }
#elif defined(BUG_RESULT_AFTER_TELLING)
        d_step { r = NEXT[chain]; STATUS[chain] = SERVED; NUDGED[chain] = 0 };
        d_step {
            BITS[chain] = (OP[chain] & READFE -> v : BITS[chain]);
            asleep = asleep & ~BIT(chain - 1); chain = r; r = 0
        }
#else
        d_step { r = NEXT[chain]; STATUS[chain] = SERVED; NUDGED[chain] = 0 };
        d_step { asleep = asleep & ~BIT(chain - 1); chain = r; r = 0 }
#endif
    :: else -> break
    od
}

/* ---- waiting ------------------------------------------------------------------------------ */

inline begin_wait() { d_step { STATUS[me + 1] = WAITING; NUDGED[me + 1] = 0 } }

#ifdef BUG_STATUS_COMPARED_WHOLE
#define TOLD  (STATUS[me + 1] == SERVED && NUDGED[me + 1] == 0)
#else
#define TOLD  (STATUS[me + 1] == SERVED)
#endif

inline end_wait() {             /* links are stale from here on, and marked so */
    STATUS[me + 1] = IDLE; NUDGED[me + 1] = 0;
    NEXT[me + 1] = STALE; LAST[me + 1] = STALE; BITS[me + 1] = 0; OP[me + 1] = 0
}

inline queue_up() {             /* at the tail of A or B, under the lock */
    alone();
    abandoned = abandoned & ~BIT(me + 1);
    earlier[me + 1] = WHO_QUEUED((op & OF_A -> OF_A : READFE + WRITEEF));
    OP[me + 1] = op;
    BITS[me + 1] = bits;
    assert((queued & BIT(me + 1)) == 0);
    queued = queued | BIT(me + 1);
    if
    :: op & OF_A -> r = A(w); enqueue(r, me + 1); w = WORD(FULL(w), r, B(w), 0)
    :: else -> r = B(w); enqueue(r, me + 1); w = WORD(FULL(w), A(w), r, 0)
    fi;
    r = 0
}
inline unqueue() {              /* own record, under the lock; `mine`: it was there */
    alone();
    if
    :: op & OF_A -> r = A(w); unlink(r, me + 1, mine); w = (mine -> WORD(FULL(w), r, B(w), 0) : w)
    :: else -> r = B(w); unlink(r, me + 1, mine); w = (mine -> WORD(FULL(w), A(w), r, 0) : w)
    fi;
    r = 0;
    if
    :: mine -> left_queue((me + 1))
    :: else
    fi
}

#ifdef BARE
inline exchanged() {            /* writeef without the lock: compare_exchange(word, w, w + FULL + VERSION) */
    happens(me + 1, op, bits, 0);
    word = WORD(1, 0, 0, NEWER(w))
}
#endif

/* Sleep if the word is still as it was seen; or not at all: another value, a signal, no reason. */
inline futex_wait() {
    atomic {
        if
#ifdef BUG_SLEEPS_UNSEEN
        :: asleep = asleep | BIT(me)
#else
        :: STATUS[me + 1] == WAITING && NUDGED[me + 1] == nudged -> asleep = asleep | BIT(me)
#endif
        :: true
        fi;
        nudged = 0
    };
    !(asleep & BIT(me)) || over
}

/* ---- smp/_runtime/protocols/wait.py ------------------------------------------------------------------------- */

inline abort() {                /* uses r and before */
#ifdef BUG_RECORDS_READ_FIRST
    before = joined;
#endif
#ifdef BUG_NUDGE_FIRST
    nudge_all();
#endif
#ifdef BUG_ONLY_THE_FIRST_NUDGES
    if
    :: d_step { cause == 0 -> cause = 1 }; nudge_all()
    :: cause != 0
    fi
#else
    cause = 1;                  /* compare_exchange(ABORT, 0, ...) */
#ifndef BUG_NUDGE_FIRST
    nudge_all()
#endif
#endif
}

/*
 * Also those that are SERVED: who has served them may have been killed before it woke them. Who is
 * IDLE will look at ABORT once it is WAITING.
 */
#ifdef BUG_SERVED_NOT_NUDGED
#define TO_NUDGE(r)  (STATUS[r] == WAITING)
#else
#define TO_NUDGE(r)  (STATUS[r] != IDLE)
#endif

inline nudge_all() {
#ifndef BUG_RECORDS_READ_FIRST
    before = joined;
#endif
    do
    :: before != 0 ->
        d_step {
            r = (before & 1 -> 1 : (before & 2 -> 2 : (before & 4 -> 3 : 4)));
            before = before & ~BIT(r - 1);
            r = (TO_NUDGE(r) -> r : 0)
        };
        if
        :: r != 0 ->
#ifndef BUG_WAKES_WITHOUT_NUDGE
            NUDGED[r] = NUDGED[r] + 1;
#endif
            d_step { asleep = asleep & ~BIT(r - 1); r = 0 }
        :: else
        fi
    :: else -> break
    od
}

/* ---- streams ------------------------------------------------------------------------------ */

#ifdef LAST_ONE
#define MENU  (n == OPS -> LAST_ONE : CHOICE)
#else
#define MENU  CHOICE
#endif
#define CHOICE  (me == 0 -> ONE : (me == 1 -> TWO : (me == 2 -> THREE : FOUR)))

#define VALUE  ((n - 1) * P + me + 1)     /* another one each time */

inline choose() {
    if
    :: MENU & READFE -> op = READFE
    :: MENU & READFF -> op = READFF
    :: MENU & READXX -> op = READXX
    :: MENU & WRITEEF -> op = WRITEEF; bits = VALUE
    :: MENU & WRITEFF -> op = WRITEFF; bits = VALUE
    :: MENU & WRITEXF -> op = WRITEXF; bits = VALUE
    :: MENU & PURGE -> op = PURGE; bits = 0
    :: MENU & FILL -> op = FILL
    :: MENU & FETCH_ADD -> op = FETCH_ADD; bits = 16
    fi
}

#ifdef BUG_WORD_NOT_LOOKED_AT_AGAIN
#define UNCHANGED  true
#else
#define UNCHANGED  (word == w)
#endif

inline leave() {                /* an operation ends */
    d_step {
        assert(outcome != OK || given[me + 1] == result);
        assert(outcome == OK || ABANDONED(me + 1) || given[me + 1] == NONE);
        assert(outcome == OK || ABANDONED(me + 1) || (queued & BIT(me + 1)) == 0);
        assert(outcome != ABORTED || cause != 0 || deaths);
        given[me + 1] = NONE;
        op = 0; bits = 0; result = 0; v = 0; looks = 0; mine = false; w = 0
    }
}

inline forget() {               /* SPIN would tell states apart by variables that matter no more */
    n = 0; op = 0; bits = 0; result = 0; v = 0; looks = 0; w = 0; r = 0; after = 0; chain = 0;
    nudged = 0; before = 0; outcome = OK; mine = false;
    asleep = asleep & ~BIT(me)
}

proctype Stream(byte me) {
    byte number, n, outcome, looks, bits, result, v, r, after, chain, nudged, before;
    short op;
    int w;
    bool mine;

    {
    do
    :: atomic { number != run_number -> number = run_number };
        do
#ifdef EXCEPTIONS
    :: n < OPS && outcome == OK -> outcome = ABORTED; abort(); break
#endif
#ifdef STUBBORN
    :: atomic { n < OPS && outcome == ABORTED -> outcome = OK }
#endif
    :: n == OPS || outcome == ABORTED -> break
    :: atomic { n < OPS && outcome != ABORTED -> outcome = OK; n++; choose() };

look:   if
        :: atomic { !LOCKED(word) ->
            if
            :: SUITS(word) && UNLOCKED_READ -> w = word; goto read
            :: QUICK(word) -> w = word; goto read
#ifdef BARE
            :: BARE(word) -> w = word; goto bare
#endif
#ifdef BUG_LOCK_NOT_ATOMIC
            :: SUITS(word) && !UNLOCKED_READ -> w = word
#else
            :: SUITS(word) && !UNLOCKED_READ -> take_lock(); goto hold
#endif
            :: !SUITS(word) && looks < RETRIES -> looks++; goto look
            :: !SUITS(word) -> goto trap
            fi };
#ifdef BUG_LOCK_NOT_ATOMIC
            d_step { word = w | 2; holder = me + 1 };
            goto hold
#endif
        :: atomic { LOCKED(word) && UNLOCKED_READ -> goto trap }        /* the others may as well wait here */
#if RETRIES > 0
        :: atomic { cause != 0 -> outcome = ABORTED; goto ends }
#endif
        :: atomic { LOCK_GIVEN_UP -> outcome = ABORTED; goto ends }
        fi;

read:   result = low;
        after = high;
        if
        :: d_step { UNCHANGED ->
            assert(result == after && result == content);       /* whole, and what is there now */
            happens(me + 1, op, 0, result);
            assert((op & NEEDS_FULL) == 0 || !ANY_QUEUED(NEEDS_FULL));  /* overtakes nobody */
            if                  /* compare_exchange(word, w, w - FULL + VERSION) */
            :: op == READFE -> word = WORD(0, 0, 0, NEWER(w))
            :: else             /* load(word) == w */
            fi;
            after = 0 };
            goto ends
        :: atomic { !UNCHANGED -> result = 0; after = 0; w = 0; goto look }
        fi;

#ifdef BARE
bare:   if
#ifdef BUG_WRITEEF_VALUE_FIRST
        :: low = bits; high = bits;
            if
            :: d_step { word == w -> exchanged() }; goto ends
            :: atomic { word != w -> w = 0; goto look }
            fi
#else
        :: d_step { word == w -> exchanged() }; low = bits; high = bits; goto ends
        :: atomic { word != w -> w = 0; goto look }
#endif
        fi;
#endif

trap:   if
        :: atomic { !LOCKED(word) && !LEFT_IN_A_QUEUE -> take_lock();
            joined = joined | BIT(me);
            if
#ifndef BUG_NO_LAST_LOOK
            :: SUITS(w) -> goto hold
            :: !SUITS(w)
#else
            :: true
#endif
            fi }
        :: atomic { LOCK_GIVEN_UP || LEFT_IN_A_QUEUE -> outcome = ABORTED; goto ends }
        fi;
#ifdef BUG_ABORT_LOOKED_AT_FIRST
        if
        :: cause != 0 -> d_step { unlock() }; outcome = ABORTED; goto ends
        :: cause == 0
        fi;
#endif
#ifndef BUG_WAITING_AFTER_QUEUEING
        begin_wait();
#endif
        d_step { queue_up(); unlock() };
#ifdef BUG_WAITING_AFTER_QUEUEING
        begin_wait();
#endif

sleep:  do
        :: atomic {
            if
            :: TOLD -> goto woken
            :: else -> nudged = NUDGED[me + 1]
            fi };
#if defined(ABORTS) && !defined(BUG_ABORT_NOT_LOOKED_AT) && !defined(BUG_ABORT_LOOKED_AT_FIRST)
            if
            :: cause != 0 -> nudged = 0; goto withdraw
            :: cause == 0
            fi;
#endif
#ifdef DEADLINE
            if
            :: atomic { nudged = 0; outcome = EXPIRED; goto withdraw }
            :: true
            fi;
#endif
            futex_wait();
            if
            :: over -> goto stop
            :: !over
            fi
        od;

withdraw:
#ifdef BUG_EXPIRED_STAYS_QUEUED
        if
        :: outcome == EXPIRED -> d_step { end_wait() }; goto ends
        :: outcome != EXPIRED
        fi;
#endif
        if
        :: atomic { !LOCKED(word) -> take_lock() }
        :: atomic { WITHDRAWAL_GIVEN_UP -> goto left }
        fi;
#ifdef BUG_WITHDRAWAL_KEEPS_LOCK
        d_step { unqueue(); holder = 0 };
#else
        d_step { unqueue(); unlock() };
#endif
        if
        :: atomic { mine -> mine = false; goto gone }
#if defined(BUG_LEAVES_UNTOLD)
        :: atomic { !mine -> outcome = OK; goto woken }         /* the result is in the record already */
#elif defined(BUG_EXPIRED_THOUGH_SERVED)
        :: atomic { !mine && outcome == EXPIRED -> goto gone }
        :: atomic { !mine && outcome != EXPIRED }
#else
        :: atomic { !mine -> outcome = OK }     /* served, and about to be told so */
#endif
        fi;

        if                      /* by one who may be dead, and never tells */
        :: TOLD -> outcome = OK; goto woken
#ifndef BUG_TOLD_OR_WAITS_FOR_EVER
        :: atomic { GIVES_UP -> goto left }
#endif
        fi;

left:   if                      /* the record is left as it is, for good */
        :: d_step { abandoned = abandoned | BIT(me + 1); outcome = ABORTED }; goto ends
        fi;

gone:   if
        :: d_step { end_wait(); outcome = (outcome == EXPIRED -> EXPIRED : ABORTED) }; goto ends
        fi;

woken:  if
#ifdef BUG_RESULT_FROM_THE_CELL
        :: d_step { result = (OP[me + 1] & (READFE + READFF) -> low : 0); end_wait() }; goto ends
#else
        :: d_step { result = (OP[me + 1] & (READFE + READFF + FETCH_ADD) -> BITS[me + 1] : 0); end_wait() }; goto ends
#endif
        fi;

#ifdef BUG_UNLOCKED_BEFORE_SERVING
hold:   if
        :: d_step { word = WORD(FULL(w), A(w), B(w), NEWER(word)); holder = 0 }
        fi;
        act();
        store_value();
        d_step { unlock() };
#else
hold:   if
        :: act()
        fi;
#ifdef BUG_UNLOCKED_BEFORE_THE_VALUE
        d_step { unlock() };
        store_value();
#else
        store_value();
        d_step { unlock() };
#endif
#endif
        tell();

ends:   if
        :: leave()
        fi
    od;

stop:   atomic { answered = answered | BIT(me); forget() }
    :: closed -> break
    od;
    finished++
    } unless {
        atomic { killed & BIT(me) -> forget(); number = 0; finished++ }
    }
}

#ifdef KILLS

byte kills;

#define KILL(rank)  atomic { kills < KILLS && !(killed & BIT(rank)) -> kills++; killed = killed | BIT(rank) }

proctype Killer() {
    do
    :: KILL(0)
    :: KILL(1)
#if P > 2
    :: KILL(2)
#endif
#if P > 3
    :: KILL(3)
#endif
    :: break
    od
}

#endif

#define ALL  (BIT(P) - 1)

/* Nobody can do anything: nobody is to be told, and who waits has to. unlock() asserts that it has. */
#define LEFT_WAITING  (asleep != 0 && (answered | asleep) == ALL && queued == 2 * asleep && !LOCKED(word) && cause == 0)

proctype Parent() {
    byte me = P;
    byte noticed, r, before;

    do
#ifdef KILLS
    :: d_step { noticed != killed -> noticed = killed; deaths = true }; abort()
#endif
    :: atomic {
        (answered | killed) == ALL && noticed == killed ->
        if
        :: killed || over || run_number == RUNS -> closed = true; break
        :: else -> assert(queued == 0 && abandoned == 0);       /* nothing is left over */
            answered = 0; cause = 0; run_number++
        fi }
#ifndef BALANCED
    :: timeout && LEFT_WAITING -> over = true
#endif
    od
}

ltl everyone_ends { <> (finished == P) }

init {
    byte rank;
    atomic {
        for (rank : 0 .. P - 1) { run Stream(rank) }
#ifdef KILLS
        run Killer();
#endif
        run Parent()
    }
}
