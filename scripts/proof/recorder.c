/* Records, in order, all changes by a program below PROOF_ROOTS, and its output, in the file PROOF_TRACE.
 *
 * Preloaded into the program by powerloss.py. One mutex is held across each call and its record, so that the records
 * are in the order of the calls, whichever threads made them. Calls inside libc itself are not recorded; powerloss.py
 * replays each trace and compares the result with the real directory, so that no missing call goes undetected.
 */
#include "recorder.h"

#define ROOT_COUNT 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static char roots[ROOT_COUNT][PATH_MAX];
static int root_count;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("PROOF_TRACE"), *list = getenv("PROOF_ROOTS");
    if (!path || !list) return;
    int low = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* High, so that the program's own descriptor numbers are unchanged. */
    trace = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, low);
    char copy[ROOT_COUNT * PATH_MAX];
    snprintf(copy, sizeof copy, "%s", list);
    char *rest = copy, *word;
    while ((word = strsep(&rest, ":")) && root_count < ROOT_COUNT) snprintf(roots[root_count++], PATH_MAX, "%s", word);
}

void proof_begin(void) { if (trace >= 0) pthread_mutex_lock(&mutex); }
void proof_end(void) { if (trace >= 0) pthread_mutex_unlock(&mutex); }

void proof_record(struct header h, const char *name1, const char *name2, const void *data, size_t count) {
    struct timespec now;
    int saved = errno;
    clock_gettime(CLOCK_MONOTONIC, &now);
    h.magic = 0x50524f46;
    h.time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    h.tid = (uint64_t)syscall(SYS_gettid);
    h.name1 = name1 ? (uint32_t)strlen(name1) : 0;
    h.name2 = name2 ? (uint32_t)strlen(name2) : 0;
    h.data = (uint32_t)count;
    h.size = (uint32_t)sizeof h + h.name1 + h.name2 + h.data;
    struct iovec parts[4] = {{&h, sizeof h}, {(void *)name1, h.name1}, {(void *)name2, h.name2}, {(void *)data, count}};
    if (syscall(SYS_writev, trace, parts, 4) != (long)h.size) abort();
    errno = saved;
}

static int below_roots(const char *path) {
    for (int i = 0; i < root_count; i++) {
        size_t count = strlen(roots[i]);
        if (!strncmp(path, roots[i], count) && (path[count] == '/' || path[count] == 0)) return 1;
    }
    return 0;
}

static int descriptor_is_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long count = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (count < 0) return 0;
    path[count] = 0;
    return below_roots(path);
}

/* The inode of the file or directory of a descriptor below the roots, otherwise 0. */
uint64_t proof_inode(int fd, struct stat *status) {
    int saved = errno;
    uint64_t found = 0;
    if (trace >= 0 && !fstat(fd, status) && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)) &&
        descriptor_is_below(fd))
        found = status->st_ino;
    errno = saved;
    return found;
}

/* The directory of a path below the roots: its inode, and the last name in the path. Otherwise 0. */
uint64_t proof_locate(int at, const char *path, const char **name) {
    if (trace < 0 || !path) return 0;
    int saved = errno;
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash) strcpy(parent, ".");
    else snprintf(parent, sizeof parent, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    uint64_t found = 0;
    int fd = (int)syscall(SYS_openat, at, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    struct stat status;
    if (fd >= 0) {
        found = proof_inode(fd, &status);
        syscall(SYS_close, fd);
    }
    errno = saved;
    return found;
}

int proof_status_at(int at, const char *path, struct stat *status) {
    int saved = errno, code = fstatat(at, path, status, AT_SYMLINK_NOFOLLOW);
    errno = saved;
    return code;
}

static void record_write(int fd, const struct iovec *parts, int count, int64_t offset, long written) {
    struct stat status;
    uint64_t file;
    if (trace < 0 || written <= 0) return;
    int is_output = fd == 1;
    if (is_output) file = 0;
    else if (!(file = proof_inode(fd, &status)) || !S_ISREG(status.st_mode)) return;
    char *bytes = malloc((size_t)written);
    size_t have = 0;
    for (int i = 0; i < count && have < (size_t)written; i++) {
        size_t take = parts[i].iov_len < (size_t)written - have ? parts[i].iov_len : (size_t)written - have;
        memcpy(bytes + have, parts[i].iov_base, take);
        have += take;
    }
    struct header h = {.op = is_output ? EVENT_OUTPUT : EVENT_WRITE, .a = file, .offset = offset, .length = written};
    proof_record(h, 0, 0, bytes, have);
    free(bytes);
}

/* The offset of a write without an explicit offset. */
static int64_t position(int fd) {
    struct stat status;
    int saved = errno;
    int64_t place = 0;
    if (trace >= 0 && proof_inode(fd, &status)) {
        long flags = syscall(SYS_fcntl, fd, F_GETFL);
        place = flags & O_APPEND ? status.st_size : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    }
    errno = saved;
    return place;
}

/* Opening */

static int open_any(int at, const char *path, int flags, mode_t mode) {
    /* libdispatch terminates the process if it cannot read its thread list there: docs/proof.md. */
    int is_own = path && !strncmp(path, "/proc/", 6);
    if (!is_own && proof_fails(CALL_OPEN)) return -1;
    const char *name;
    uint64_t directory = flags & (O_CREAT | O_TRUNC) ? proof_locate(at, path, &name) : 0;
    if (!directory) return (int)syscall(SYS_openat, at, path, flags, mode);
    proof_begin();
    struct stat before, after;
    int existed = !proof_status_at(at, path, &before);
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0 && !fstat(fd, &after)) {
        struct header h = {.op = EVENT_CREATE, .a = directory, .b = after.st_ino, .length = after.st_mode};
        if (!existed) proof_record(h, name, 0, 0, 0);
        else if (flags & O_TRUNC && before.st_size > 0) {
            struct header cut = {.op = EVENT_TRUNCATE, .a = after.st_ino};
            proof_record(cut, 0, 0, 0, 0);
        }
    }
    proof_end();
    return fd;
}

#define MODE_OF(flags)                                        \
    mode_t mode = 0;                                          \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                    \
        va_list list;                                         \
        va_start(list, flags);                                \
        mode = va_arg(list, mode_t);                          \
        va_end(list);                                         \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags) return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return open_any(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_OF(flags) return open_any(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_OF(flags) return open_any(at, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_any(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }
int __open_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
int __openat_2(int at, const char *path, int flags) { return open_any(at, path, flags, 0); }
int __openat64_2(int at, const char *path, int flags) { return open_any(at, path, flags, 0); }

/* Writing */

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    if (proof_fails(CALL_WRITE)) return -1;
    proof_begin();
    long written = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    record_write(fd, parts, count, offset, written);
    proof_end();
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (proof_fails(CALL_WRITE)) return -1;
    proof_begin();
    int64_t offset = position(fd);
    long written = syscall(SYS_writev, fd, parts, count);
    record_write(fd, parts, count, offset, written);
    proof_end();
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    struct iovec part = {(void *)bytes, count};
    return pwritev(fd, &part, 1, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    struct iovec part = {(void *)bytes, count};
    return writev(fd, &part, 1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return pwrite(fd, bytes, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return pwritev(fd, parts, count, offset); }

/* Calls whose bytes cannot be recorded; powerloss.py refuses a trace with such a call below the roots. */
static void opaque(int fd, const char *what) {
    struct stat status;
    struct header h = {.op = EVENT_OPAQUE};
    if (trace >= 0 && (h.a = proof_inode(fd, &status))) proof_record(h, what, 0, 0, 0);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    proof_begin();
    opaque(to, "sendfile");
    long moved = syscall(SYS_sendfile, to, from, offset, count);
    proof_end();
    return moved;
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) { return sendfile(to, from, offset, count); }

ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *offset, size_t count, unsigned flags) {
    proof_begin();
    opaque(to, "copy_file_range");
    long moved = syscall(SYS_copy_file_range, from, start, to, offset, count, flags);
    proof_end();
    return moved;
}

/* Sizes and space */

int ftruncate(int fd, off_t size) {
    if (proof_fails(CALL_WRITE)) return -1;
    proof_begin();
    struct stat status;
    int code = (int)syscall(SYS_ftruncate, fd, size);
    struct header h = {.op = EVENT_TRUNCATE, .length = size};
    if (!code && (h.a = proof_inode(fd, &status))) proof_record(h, 0, 0, 0, 0);
    proof_end();
    return code;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int truncate(const char *path, off_t size) {
    int fd = open_any(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    int code = ftruncate(fd, size);
    int saved = errno;
    syscall(SYS_close, fd);
    errno = saved;
    return code;
}

int truncate64(const char *path, off64_t size) { return truncate(path, size); }

int fallocate(int fd, int mode, off_t offset, off_t count) {
    if (proof_fails(CALL_WRITE)) return -1;
    proof_begin();
    struct stat status;
    int code = (int)syscall(SYS_fallocate, fd, mode, offset, count);
    struct header h = {.op = EVENT_ALLOCATE, .flags = (uint32_t)mode, .offset = offset, .length = count};
    if (!code && (h.a = proof_inode(fd, &status))) proof_record(h, 0, 0, 0, 0);
    proof_end();
    return code;
}

int fallocate64(int fd, int mode, off64_t offset, off64_t count) { return fallocate(fd, mode, offset, count); }

int posix_fallocate(int fd, off_t offset, off_t count) {
    int saved = errno, code = fallocate(fd, 0, offset, count) ? errno : 0;
    errno = saved;
    return code;
}

int posix_fallocate64(int fd, off64_t offset, off64_t count) { return posix_fallocate(fd, offset, count); }

/* Synchronizing. sync_file_range makes nothing durable: it is passed on without a record. */

static int sync_any(int fd, long number) {
    if (proof_fails(CALL_SYNC)) return -1;
    proof_begin();
    struct stat status;
    int code = (int)syscall(number, fd);
    struct header h = {.op = EVENT_SYNC, .flags = number == SYS_fdatasync};
    if (!code && (h.a = proof_inode(fd, &status))) proof_record(h, 0, 0, 0, 0);
    proof_end();
    return code;
}

int fsync(int fd) { return sync_any(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_any(fd, SYS_fdatasync); }

void *mmap(void *address, size_t count, int protection, int flags, int fd, off_t offset) {
    struct stat status;
    struct header h = {.op = EVENT_MAP};
    if (trace >= 0 && fd >= 0 && flags & MAP_SHARED && protection & PROT_WRITE && (h.a = proof_inode(fd, &status))) {
        proof_begin();
        proof_record(h, 0, 0, 0, 0);
        proof_end();
    }
    return (void *)syscall(SYS_mmap, address, count, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t count, int protection, int flags, int fd, off64_t offset) {
    return mmap(address, count, protection, flags, fd, offset);
}
