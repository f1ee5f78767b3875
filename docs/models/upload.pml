/*
 * One file, uploaded in one request: two processes, each with any commands, on one data directory. machine.pml lists the
 * source of each part.
 */

#define ROWS 2
#ifndef KILLS
#define KILLS 2
#define CUTS 0
#define FULL_DISKS 0
#define COMMANDS 2
#endif
#ifndef REQUESTS
#define REQUESTS 2
#endif
#define IS_OPEN(r) (row[r] == open || row[r] == unknown)
#define REPORTED (IS_OPEN(0) || row[0] == lost || IS_OPEN(1) || row[1] == lost)

#include "machine.pml"

/* Only one response has the token; bytes that the server already has are refused, or accepted without a token. */
proctype Server(byte q) {
end:
    work[q] == queued;
    if
    :: work[q] = busy
    :: d_step { waiting[q] == NOBODY -> work[q] = over }
    fi;
    if
    :: work[q] == over
    :: d_step { work[q] == busy && stored -> respond(withoutToken) }
    :: d_step { work[q] == busy && !stored -> stored = true; respond(withToken) }
    :: d_step { work[q] == busy && !stored -> stored = true; respond(breakdown) }
    :: d_step { work[q] == busy && !stored -> respond(breakdown) }
    :: d_step { work[q] == busy && !stored -> respond(refusal) }
    fi
}

/* RescueAdoption.adopt */
inline adoptOne() {
    isKept = false;
    if
    :: kept[j] == withToken && (IS_OPEN(rowOf[j]) || row[rowOf[j]] == lost) ->
        if
        :: commit(rowOf[j], done, true)
        :: fullDisks > 0 -> d_step { fullDisks--; hasFailed = true; isKept = true }
        fi
    :: kept[j] == withToken && !IS_OPEN(rowOf[j]) && row[rowOf[j]] != lost ->
        /* Commits of a killed process may not be on the disk yet. */
#ifndef WITHOUT_SYNC_BEFORE_RELEASE
        synchronize(rowOf[j]);
#endif
        isKept = !token
    :: kept[j] == withoutToken && IS_OPEN(rowOf[j]) -> commit(rowOf[j], duplicate, false)
    :: kept[j] == refusal && IS_OPEN(rowOf[j]) -> commit(rowOf[j], failed, false)
    :: else
    fi;
    if :: !isKept -> release(j) :: else fi;
    isKept = false;
}

/* OutcomeInquiry.run: found at any time; absent only when the server can no longer be processing the request. */
inline query() {
    if
    :: stored && token -> commit(i, done, false)
    :: stored && !token -> commit(i, lost, false)
#ifdef WITHOUT_WAITING
    :: !stored -> isAbsent = true
#else
    :: QUIET && !stored -> isAbsent = true
#endif
    /* The server does not respond, or the user stops the wait. */
    :: commit(i, unknown, false)
    fi
}

/* Reported as not on the server. */
inline fail() {
    d_step { assert(!stored && NO_REQUEST_RUNS) };
    commit(i, failed, false)
}

inline retry() {
    if
    :: requests < REQUESTS -> again = true
    :: fail()
    fi
}

/* UploadRun.sendUntilFinished */
inline send() {
    again = true;
    do
    :: again && requests < REQUESTS ->
        prepare(i);
#ifndef WITHOUT_INTENT
        if :: row[i] != open -> commit(i, open, false) :: else fi;
#endif
        again = false;
        if
        :: skip ->
            /* No retry without a query. */
            d_step { assert(NO_REQUEST_RUNS && !stored); waiting[q] = me; work[q] = queued };
            receive();
#ifdef RELEASE_BEFORE_COMMIT
            release(q);
#endif
        /* The connection broke before the last byte: the server has nothing. */
        :: got = refusal
        fi;
        if
        :: got == withToken ->
            if
            :: commit(i, done, true);
                /* "uploaded" is printed only after the data is on the disk. */
                assert(ON_DISK)
            :: fullDisks > 0 -> d_step { fullDisks--; isKept = true }
            fi
        :: got == withoutToken && wasLost -> commit(i, lost, false)
        :: got == withoutToken && !wasLost -> commit(i, duplicate, false)
        :: got == refusal -> fail()
        /* The script has ended: the listing shows whether the server has the file. */
        :: got == breakdown && stored -> commit(i, lost, false)
        :: got == breakdown && !stored -> fail()
#ifdef RETRY_AFTER_429
        :: got == gateway -> again = true
        :: got == nothing ->
#else
        :: got == gateway || got == nothing ->
#endif
            wasLost = true;
            commit(i, unknown, false);
#ifdef WITHOUT_ASKING
            again = true
#else
            query();
            if :: isAbsent -> isAbsent = false; retry() :: else fi
#endif
        fi;
        if
        :: isKept -> d_step { isKept = false; keeper[q] = FREE }
        :: else -> release(q)
        fi;
        d_step { got = nothing; q = 0 }
    :: else -> break
    od;
    again = false;
    wasLost = false
}

/* UploadResolution.resolve */
inline resolve() {
    if
#ifdef WITHOUT_ROW_LOCK
    :: true ->
#else
    :: atomic { rowLock[i] == FREE -> rowLock[i] = me + 1 };
#endif
        adopt();
        if
        :: !hasFailed && IS_OPEN(i) ->
            query();
            if :: isAbsent -> isAbsent = false; fail() :: else fi
        :: else
        fi;
#ifndef WITHOUT_ROW_LOCK
        rowLock[i] = FREE
    :: else
#endif
    fi
}

/* EarlierUploads.end: whether the file may be sent. */
inline resolveEarlier() {
    i = 0;
    mayBegin = true;
    do
    :: i < ROWS && mayBegin && !hasFailed ->
        if
        :: IS_OPEN(i) -> resolve()
        :: else
        fi;
        mayBegin = (row[i] == none || row[i] == failed);
        i++
    :: else -> break
    od
}

/* UploadRun.send */
inline upload() {
    if
#ifdef WITHOUT_SOURCE_LOCK
    :: true ->
#else
    :: atomic { sourceLock == FREE -> sourceLock = me + 1 };
#endif
        resolveEarlier();
        if
        :: mayBegin && !hasFailed && requests < REQUESTS ->
            i = 0;
            if
            :: atomic { row[0] == none && rowLock[0] == FREE -> rowLock[0] = me + 1; i = 0 }; send(); rowLock[i] = FREE
            :: atomic { row[0] != none && row[1] == none && rowLock[1] == FREE -> rowLock[1] = me + 1; i = 1 };
                send(); rowLock[i] = FREE
            :: else
            fi
        :: else
        fi;
#ifndef WITHOUT_SOURCE_LOCK
        sourceLock = FREE
    :: else
#endif
    fi;
    i = 0;
    mayBegin = false
}

/* uploads status */
inline status() {
    if :: IS_OPEN(0) && !hasFailed -> i = 0; resolve() :: else fi;
    if :: IS_OPEN(1) && !hasFailed -> i = 1; resolve() :: else fi;
    i = 0
}

proctype Client(byte me) {
    byte commands = COMMANDS - me, i, q, j, n;
    mtype got = nothing;
    bool wasLost, again, isKept, isBorrowed, hasFailed, mayBegin, isAbsent;
    do
    :: commands == 0 -> break
    :: commands > 0 ->
        d_step { commands--; alive[me] = true };
        {
            adopt();
            if
            :: skip
            :: !hasFailed -> upload()
            :: !hasFailed -> status()
            fi
        } unless { killed[me] };
        d_step {
            drop(me);
            alive[me] = false; killed[me] = false;
            i = 0; q = 0; j = 0; got = nothing;
            wasLost = false; again = false; isKept = false; isBorrowed = false; hasFailed = false; mayBegin = false;
            isAbsent = false
        }
    od;
    ended++
}

/* The next command, without failures. */
proctype Last(byte me) {
    byte q, j, n;
    bool isKept, isBorrowed, hasFailed;
    ended == CLIENTS && NO_REQUEST_RUNS;
    fullDisks = 0;
    adopt();
    assert(!acknowledged || ON_DISK);
}

init {
    atomic {
        run Server(0); run Server(1);
#if REQUESTS == 3
        run Server(2);
#endif
        run Client(0); run Client(1); run Last(2)
    }
}
