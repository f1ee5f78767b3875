/*
 * Finalizing one resumable upload whose bytes are all on the server: two processes, each with any commands, on one data
 * directory. machine.pml lists the source of each part.
 */

#define ROWS 1
#ifndef REQUESTS
#define REQUESTS 3
#endif
#ifndef KILLS
#define KILLS 2
#define CUTS 1
#define FULL_DISKS 1
#define COMMANDS 2
#endif
#define REPORTED (row[0] == open || row[0] == unknown || row[0] == lost)

#include "machine.pml"

/* The first finalize returns the token; every later one returns the stored response, without it. */
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
    /* 503, or a hook that has not run: this request had no effect, but an earlier one may have had. */
    :: d_step { work[q] == busy -> respond(refusal) }
    fi
}

/* RescueAdoption.recordFinalize */
inline adoptOne() {
    isKept = false;
    if
    :: kept[j] == withToken && row[0] != done ->
        if
        :: commit(0, done, true)
        :: fullDisks > 0 -> d_step { fullDisks--; hasFailed = true; isKept = true }
        fi
    :: kept[j] == withToken && row[0] == done ->
        /* Commits of a killed process may not be on the disk yet. */
#ifndef WITHOUT_SYNC_BEFORE_RELEASE
        synchronize(0);
#endif
        isKept = !token
    :: kept[j] == withoutToken && row[0] == unknown -> commit(0, lost, false)
    :: kept[j] == withoutToken && (row[0] == open || row[0] == failed) -> commit(0, done, false)
    :: kept[j] == refusal && row[0] != unknown -> note(false)
    :: else
    fi;
    if :: !isKept -> release(j) :: else fi;
    isKept = false;
}

/* Finalization.run */
inline finalize() {
    wasLost = mark;
    again = true;
    do
    :: again && requests < REQUESTS ->
        if
        :: wasLost ->
#ifndef WITHOUT_UNKNOWN_BEFORE_A_REPEAT
            commit(0, unknown, false);
#endif
#ifndef WITHOUT_WAITING
            QUIET;
#endif
        :: !wasLost && row[0] == failed -> commit(0, open, false)
        :: else
        fi;
        prepare(0);
#ifndef WITHOUT_MARK
        note(true);
#endif
        /* No two finalize requests of an upload run in parallel. */
        d_step { assert(NO_REQUEST_RUNS); waiting[q] = me; work[q] = queued };
        receive();
#ifdef RELEASE_BEFORE_COMMIT
        release(q);
#endif
        again = false;
        if
        :: got == withToken ->
            if
            :: commit(0, done, true);
                /* "uploaded" is printed only after the data is on the disk. */
                assert(ON_DISK)
            :: fullDisks > 0 -> d_step { fullDisks--; isKept = true }
            fi
        :: got == withoutToken && wasLost ->
            /* The lost response had the token. */
            if :: token -> commit(0, done, false) :: else -> commit(0, lost, false) fi
        :: got == withoutToken && !wasLost -> commit(0, done, false)
        :: (got == refusal || got == breakdown && !stored) && !wasLost ->
            note(false);
            d_step { assert(!stored) };
            commit(0, failed, false)
        :: (got == refusal || got == breakdown && !stored) && wasLost -> commit(0, unknown, false)
        /* tus no longer has the upload, and the listing has the file. */
        :: got == breakdown && stored -> commit(0, lost, false)
        :: got == gateway || got == nothing ->
            wasLost = true;
            commit(0, unknown, false);
            if :: again = true :: skip fi
        fi;
        if
        :: isKept -> d_step { isKept = false; keeper[q] = FREE }
        :: else -> release(q)
        fi;
        d_step { got = nothing; q = 0; wasLost = wasLost && again }
    :: else -> break
    od;
    wasLost = false;
    again = false
}

/* UploadResolution.resolve, TusUploadRun.run, ResumeRun */
inline resolve() {
    if
#ifdef WITHOUT_ROW_LOCK
    :: true ->
#else
    :: atomic { rowLock[0] == FREE -> rowLock[0] = me + 1 };
#endif
        adopt();
        if
        :: !hasFailed && (row[0] == open || row[0] == unknown || row[0] == failed) -> finalize()
        :: else
        fi;
#ifndef WITHOUT_ROW_LOCK
        rowLock[0] = FREE
    :: else
#endif
    fi
}

proctype Client(byte me) {
    byte commands = COMMANDS - me, q, j, n;
    mtype got = nothing;
    bool wasLost, again, isKept, isBorrowed, hasFailed;
    do
    :: commands == 0 -> break
    :: commands > 0 ->
        d_step { commands--; alive[me] = true };
        {
            adopt();
            if
            :: skip
            :: !hasFailed -> resolve()
            fi
        } unless { killed[me] };
        d_step {
            drop(me);
            alive[me] = false; killed[me] = false;
            q = 0; j = 0; got = nothing; wasLost = false; again = false; isKept = false; isBorrowed = false; hasFailed = false
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
        d_step { row[0] = open; rowSafe[0] = open };
        run Server(0); run Server(1);
#if REQUESTS == 3
        run Server(2);
#endif
        run Client(0); run Client(1); run Last(2)
    }
}
