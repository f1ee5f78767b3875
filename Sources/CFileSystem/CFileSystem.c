// Required for F_OFD_SETLK(W), statx, renameat2, fallocate, sync_file_range and memfd_create, and for a 64-bit off_t.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "CFileSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int file_system_type(const char *path, uint32_t *type) {
    struct statfs status;
    if (statfs(path, &status) != 0) return errno;
    *type = (uint32_t)status.f_type;
    return 0;
}

int64_t birth_time(const char *path) {
    struct statx status;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return -1;
    return status.stx_mask & STATX_BTIME ? (int64_t)status.stx_btime.tv_sec : -1;
}

static struct flock one_byte(int64_t offset, bool locks) {
    return (struct flock){
        .l_type = locks ? F_WRLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)offset,
        .l_len = 1,
    };
}

int lock_byte(int descriptor, int64_t offset, bool locks) {
    struct flock range = one_byte(offset, locks);
    return fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

int await_byte(int descriptor, int64_t offset) {
    struct flock range = one_byte(offset, true);
    int result;
    do {
        result = fcntl(descriptor, F_OFD_SETLKW, &range);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int rename_without_replacing(int directory, const char *old_name, const char *new_name) {
    return renameat2(directory, old_name, directory, new_name, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int reserve_space(int descriptor, int64_t byte_count) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, (off_t)byte_count) == 0 ? 0 : errno;
}

void begin_writeback(int descriptor, int64_t offset, int64_t byte_count) {
    // The kernel reports a failure at the next fsync; without this call, fsync does all the work.
    (void)sync_file_range(descriptor, (off_t)offset, (off_t)byte_count, SYNC_FILE_RANGE_WRITE);
}

int open_memory_file(void) {
    return memfd_create("input", MFD_CLOEXEC);
}

void use_one_arena(void) {
    mallopt(M_ARENA_MAX, 1);
}

void keep_freed_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}
