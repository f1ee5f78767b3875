/*
 * Shared by both models: one data directory, one server, and their failures.
 *
 * A value is the state in the kernel, its "Safe" copy the state on the disk; a kill preserves the former, a power loss only
 * the latter. A request and its rescue file never change their number.
 *
 * The sources of the models:
 *   upload, send, fail, retry: UploadRun, UploadVerdict
 *   resolveEarlier: EarlierUploads
 *   resolve, query: UploadResolution, UploadOwnership, OutcomeInquiry
 *   finalize, mark, QUIET: Finalization, FinalizeVerdict, TusJournal
 *   adopt, adoptOne: RescueAdoption
 *   prepare, receive, release, keeper: RescueLog, ResponseCollector, LockedFile
 *   commit, synchronize: TokenStore, GroupCommit
 *   Server: gighive contract 2, 3 and 4
 */

#define FREE 0
#define NOBODY 255
#define CLIENTS 2

/* Rows of the journal. "open" is planned, sending and sent; "lost" is token_lost. */
mtype = { none, open, unknown, failed, done, duplicate, lost };
/* Responses. "gateway" is a proxy's 408, 425, 429, 499, 502 or 504: the server may still be processing the request. */
mtype = { nothing, withToken, withoutToken, refusal, breakdown, gateway };
/* A request at the server. */
mtype = { unsent, queued, busy, over };

/* The journal and the token, in one database. */
mtype row[ROWS] = none;
mtype rowSafe[ROWS] = none;
bool token, tokenSafe;
/* tus: a finalize may be in flight. */
bool mark, markSafe;

/* More than there are requests, for two processes without a lock. */
#define SLOTS (REQUESTS + 2)

/* The requests, and the rescue file of each: its content, its name, and the owner of its lock. */
byte requests;
mtype work[SLOTS] = unsent;
mtype response[SLOTS] = nothing;
byte waiting[SLOTS] = NOBODY;
byte rowOf[SLOTS];
mtype kept[SLOTS] = nothing;
mtype keptSafe[SLOTS] = nothing;
bool linked[SLOTS];
bool removed[SLOTS];
byte keeper[SLOTS] = FREE;

/* Locks of processes: their number + 1. */
byte rowLock[ROWS] = FREE;
byte sourceLock = FREE;

/* The server has the file, and has sent the only token for it. */
bool stored;
/* Only for the check: a response with the token was on the disk, as far as the program could determine. */
bool acknowledged;

bool alive[CLIENTS + 1];
bool killed[CLIENTS + 1];
byte kills = KILLS;
byte cuts = CUTS;
byte fullDisks = FULL_DISKS;
byte ended;

#define ENDED(q) (work[q] == unsent || work[q] == over)
#define NO_REQUEST_RUNS (ENDED(0) && ENDED(1) && ENDED(REQUESTS - 1))
/* The time has passed during which a server may process a request whose client is gone (settle_timeout). */
#define QUIET_FOR(q) (ENDED(q) || waiting[q] != NOBODY)
#define QUIET (QUIET_FOR(0) && QUIET_FOR(1) && QUIET_FOR(REQUESTS - 1))
#define HELD(q) (linked[q] && kept[q] == withToken)
#define TOKEN_EXISTS (token || HELD(0) || HELD(1) || HELD(REQUESTS - 1))

/* Without power losses, the disk need not be distinguished from the kernel. */
#if CUTS
#define ON_DISK tokenSafe
#else
#define ON_DISK token
#endif

inline synchronize(i) {
#if CUTS && !defined(WITHOUT_COMMIT_SYNC)
    d_step { rowSafe[i] = row[i]; tokenSafe = token; markSafe = mark }
#else
    skip
#endif
}

/* One transaction, and its sync. */
inline commit(i, state, isToken) {
    d_step { row[i] = state; if :: isToken -> token = true :: else fi };
    synchronize(i)
}

inline note(value) {
    mark = value;
    synchronize(0)
}

/* A separate rescue file for each request, allocated, locked, and synchronized with its directory. */
inline respond(what) {
    response[q] = (waiting[q] == NOBODY -> nothing : what); work[q] = over
}

inline prepare(i) {
    d_step { q = requests; requests++; rowOf[q] = i; linked[q] = true; keeper[q] = me + 1 };
}

inline release(n) {
    d_step {
        linked[n] = false; removed[n] = cuts > 0; kept[n] = nothing;
        if :: keeper[n] == me + 1 -> keeper[n] = FREE :: else fi
    }
}

/* Adoption ignores the others. */
#define WORTH(what) ((what) == breakdown -> nothing : (what))

/* The response arrives, or never arrives. It is in the rescue log before it is parsed. */
inline receive() {
    if
    :: response[q] != nothing -> d_step { got = response[q]; kept[q] = WORTH(got); waiting[q] = NOBODY; response[q] = nothing }
    :: d_step { got = gateway; waiting[q] = NOBODY; response[q] = nothing }
    :: d_step { got = nothing; waiting[q] = NOBODY; response[q] = nothing }
    fi;
#if CUTS && !defined(WITHOUT_RESCUE_SYNC)
    d_step { keptSafe[q] = kept[q] };
#endif
    d_step { if :: got == withToken -> acknowledged = true :: else fi };
}

#ifdef WITHOUT_RESCUE_LOCK
#define IS_LEFT(f) (linked[f])
#else
#define IS_LEFT(f) (linked[f] && keeper[f] == FREE)
#endif
#ifdef WITHOUT_ROW_LOCK_IN_ADOPTION
#define ADOPTABLE(f) IS_LEFT(f)
#else
#define ADOPTABLE(f) (IS_LEFT(f) && (rowLock[rowOf[f]] == FREE || rowLock[rowOf[f]] == me + 1))
#endif

/* Takes every rescue file that no process has locked; each model defines `adoptOne`. */
inline adopt() {
    do
    :: d_step {
            do
            :: j < REQUESTS && !ADOPTABLE(j) -> j++
            :: else -> break
            od;
            if
            :: j < REQUESTS ->
                keeper[j] = me + 1;
#ifndef WITHOUT_ROW_LOCK_IN_ADOPTION
                if :: rowLock[rowOf[j]] == FREE -> rowLock[rowOf[j]] = me + 1; isBorrowed = true :: else fi
#endif
            :: else
            fi
        };
        if
        :: j == REQUESTS || hasFailed -> break
        :: else
        fi;
        adoptOne();
        d_step {
            if :: keeper[j] == me + 1 -> keeper[j] = FREE :: else fi;
            if :: isBorrowed -> rowLock[rowOf[j]] = FREE; isBorrowed = false :: else fi;
            j++
        }
    od;
    j = 0
}

/* The end of a process releases its locks and closes its connections. */
inline drop(who) {
    n = 0;
    do
    :: n < REQUESTS ->
        if :: keeper[n] == who + 1 -> keeper[n] = FREE :: else fi;
        if :: waiting[n] == who -> waiting[n] = NOBODY; response[n] = nothing :: else fi;
        n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < ROWS -> if :: rowLock[n] == who + 1 -> rowLock[n] = FREE :: else fi; n++
    :: else -> break
    od;
    n = 0;
    if :: sourceLock == who + 1 -> sourceLock = FREE :: else fi;
}

/* Kills at any step, and power losses. */
active proctype Fate() {
    byte n, k;
    do
    :: d_step { kills > 0 && alive[0] && !killed[0] -> kills--; killed[0] = true; drop(0) }
    :: d_step { kills > 0 && alive[1] && !killed[1] -> kills--; killed[1] = true; drop(1) }
    :: atomic { cuts > 0 && (alive[0] || alive[1]) && ended < CLIENTS ->
            d_step {
                cuts--;
                killed[0] = alive[0]; killed[1] = alive[1];
                drop(0); drop(1);
                do
                :: k < ROWS -> row[k] = rowSafe[k]; k++
                :: else -> break
                od;
                k = 0;
                token = tokenSafe; mark = markSafe;
            };
            do
            :: k < REQUESTS ->
                d_step { kept[k] = (linked[k] -> keptSafe[k] : nothing) };
                /* The directory was not synchronized after a file was removed. */
                if
                :: removed[k] -> d_step { linked[k] = true; kept[k] = keptSafe[k] }
                :: skip
                fi;
                d_step { removed[k] = false; keptSafe[k] = kept[k]; k++ }
            :: else -> break
            od;
            k = 0
        }
    :: ended == CLIENTS -> break
    od
}

/* Checked in every state. */
active proctype Watch() {
end:
    if
    /* No token is lost silently: it is stored, or the journal records that it is lost or that the outcome is unknown. */
    :: d_step { stored && !TOKEN_EXISTS && !(REPORTED) -> assert(REPORTED) }
    /* A stored response is adoptable. */
    :: d_step { acknowledged && !TOKEN_EXISTS -> assert(!acknowledged) }
    fi
}
