/* Shared by the two halves of the preloaded library: recorder.c (disk writes) and faults.c (injected failures). */
#ifndef PROOF_RECORDER_H
#define PROOF_RECORDER_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Classes of calls that can be made to fail; faults.c contains their names. */
enum call_class { CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_RENAME, CALL_CONNECT, CALL_SEND, CALL_CLASSES };

/* Counts one call of a class. Returns 0, or the errno with which it must fail. */
int proof_fault(enum call_class which);

/* Like proof_fault, but also sets errno. */
int proof_fails(enum call_class which);

/* Events of a trace; events.py reads them. */
enum event {
    EVENT_CREATE = 1, EVENT_WRITE, EVENT_TRUNCATE, EVENT_ALLOCATE, EVENT_SYNC, EVENT_RENAME, EVENT_UNLINK, EVENT_LINK,
    EVENT_MKDIR, EVENT_RMDIR, EVENT_SYMLINK, EVENT_OUTPUT, EVENT_TIMES, EVENT_MAP, EVENT_OPAQUE
};

/* The header of a record; fields not used by an event are 0. */
struct header {
    uint32_t magic, size;
    uint32_t op, flags;
    uint64_t time, tid;
    uint64_t a, b, c;
    int64_t offset, length;
    uint32_t name1, name2, data, padding;
};

/* Called before and after each call and its record. */
void proof_begin(void);
void proof_end(void);

void proof_record(struct header h, const char *name1, const char *name2, const void *data, size_t count);

/* The inode of the file or directory of a descriptor below the roots, otherwise 0. */
uint64_t proof_inode(int fd, struct stat *status);

/* The directory of a path below the roots: its inode, and the last name in the path. Otherwise 0. */
uint64_t proof_locate(int at, const char *path, const char **name);

/* fstatat of the name itself, which preserves errno. */
int proof_status_at(int at, const char *path, struct stat *status);

#endif
