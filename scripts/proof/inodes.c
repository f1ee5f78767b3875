/* Gives files the inode numbers that they had before a simulated power loss: mediactl identifies files by them, and a
 * copy has different ones. The file PROOF_INODES contains pairs of 64-bit numbers, the copy's and the one to report,
 * sorted by the first.
 */
#include "recorder.h"

struct pair { uint64_t real, shown; };

static struct pair *pairs;
static size_t pair_count;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("PROOF_INODES");
    struct stat status;
    if (!path) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    if (!syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) && status.st_size) {
        void *table = (void *)syscall(SYS_mmap, 0, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (table != MAP_FAILED) {
            pairs = table;
            pair_count = (size_t)status.st_size / sizeof *pairs;
        }
    }
    syscall(SYS_close, fd);
}

static uint64_t shown(uint64_t real) {
    size_t low = 0, high = pair_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pairs[middle].real == real) return pairs[middle].shown;
        if (pairs[middle].real < real) low = middle + 1;
        else high = middle;
    }
    return real;
}

int fstatat(int at, const char *path, struct stat *status, int flags) {
    int code = (int)syscall(SYS_newfstatat, at, path, status, flags);
    if (!code && pair_count) status->st_ino = shown(status->st_ino);
    return code;
}

int stat(const char *path, struct stat *status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char *path, struct stat *status) { return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW); }
int fstat(int fd, struct stat *status) { return fstatat(fd, "", status, AT_EMPTY_PATH); }

/* On platforms where off_t has 64 bits, stat64 has the same structure as stat. */
int fstatat64(int at, const char *path, struct stat64 *status, int flags) {
    return fstatat(at, path, (struct stat *)status, flags);
}
int stat64(const char *path, struct stat64 *status) { return stat(path, (struct stat *)status); }
int lstat64(const char *path, struct stat64 *status) { return lstat(path, (struct stat *)status); }
int fstat64(int fd, struct stat64 *status) { return fstat(fd, (struct stat *)status); }

int statx(int at, const char *path, int flags, unsigned mask, struct statx *status) {
    int code = (int)syscall(SYS_statx, at, path, flags, mask, status);
    if (!code && pair_count) status->stx_ino = shown(status->stx_ino);
    return code;
}
