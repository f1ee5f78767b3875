/* Records changes of names, and modification times that are set; see recorder.c. */
#include "recorder.h"

static int rename_any(int from, const char *old, int to, const char *new, unsigned flags) {
    if (proof_fails(CALL_RENAME)) return -1;
    proof_begin();
    const char *name1 = 0, *name2 = 0;
    struct header h = {.op = EVENT_RENAME, .flags = flags};
    h.a = proof_locate(from, old, &name1);
    h.b = proof_locate(to, new, &name2);
    int code = (int)syscall(SYS_renameat2, from, old, to, new, flags);
    if (!code && (h.a || h.b)) proof_record(h, name1, name2, 0, 0);
    proof_end();
    return code;
}

int rename(const char *old, const char *new) { return rename_any(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return rename_any(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return rename_any(from, old, to, new, flags);
}

static int unlink_any(int at, const char *path, int flags) {
    if (proof_fails(CALL_RENAME)) return -1;
    proof_begin();
    const char *name;
    struct header h = {.op = flags & AT_REMOVEDIR ? EVENT_RMDIR : EVENT_UNLINK};
    h.a = proof_locate(at, path, &name);
    int code = (int)syscall(SYS_unlinkat, at, path, flags);
    if (!code && h.a) proof_record(h, name, 0, 0, 0);
    proof_end();
    return code;
}

int unlinkat(int at, const char *path, int flags) { return unlink_any(at, path, flags); }
int unlink(const char *path) { return unlink_any(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlink_any(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode) {
    if (proof_fails(CALL_RENAME)) return -1;
    proof_begin();
    const char *name;
    struct stat status;
    struct header h = {.op = EVENT_MKDIR, .length = mode};
    h.a = proof_locate(at, path, &name);
    int code = (int)syscall(SYS_mkdirat, at, path, mode);
    if (!code && h.a && !proof_status_at(at, path, &status)) {
        h.b = status.st_ino;
        proof_record(h, name, 0, 0, 0);
    }
    proof_end();
    return code;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int symlinkat(const char *target, int at, const char *path) {
    if (proof_fails(CALL_RENAME)) return -1;
    proof_begin();
    const char *name;
    struct stat status;
    struct header h = {.op = EVENT_SYMLINK};
    h.a = proof_locate(at, path, &name);
    int code = (int)syscall(SYS_symlinkat, target, at, path);
    if (!code && h.a && !proof_status_at(at, path, &status)) {
        h.b = status.st_ino;
        proof_record(h, name, target, 0, 0);
    }
    proof_end();
    return code;
}

int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    if (proof_fails(CALL_RENAME)) return -1;
    proof_begin();
    const char *name;
    struct stat status;
    struct header h = {.op = EVENT_LINK};
    h.a = proof_locate(to, new, &name);
    int code = (int)syscall(SYS_linkat, from, old, to, new, flags);
    if (!code && h.a && !proof_status_at(to, new, &status)) {
        h.b = status.st_ino;
        proof_record(h, name, 0, 0, 0);
    }
    proof_end();
    return code;
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

/* A modification time that is set. */

static int times_any(int at, const char *path, const struct timespec times[2], int flags) {
    proof_begin();
    struct stat status;
    int code = (int)syscall(SYS_utimensat, at, path, times, flags);
    int fd = path ? (int)syscall(SYS_openat, at, path, O_PATH | O_CLOEXEC, 0) : at;
    struct header h = {.op = EVENT_TIMES};
    if (!code && fd >= 0 && (h.a = proof_inode(fd, &status))) {
        h.offset = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
        proof_record(h, 0, 0, 0, 0);
    }
    if (path && fd >= 0) syscall(SYS_close, fd);
    proof_end();
    return code;
}

int utimensat(int at, const char *path, const struct timespec times[2], int flags) {
    return times_any(at, path, times, flags);
}

int futimens(int fd, const struct timespec times[2]) { return times_any(fd, 0, times, 0); }
