// F_OFD_SETLK, and off_t with room for the offsets of locks.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "CFileSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

int file_system_type(const char *path, uint32_t *type) {
    struct statfs status;
    if (statfs(path, &status) != 0) return errno;
    *type = (uint32_t)status.f_type;
    return 0;
}

int lock_byte(int descriptor, int64_t offset, bool locks) {
    struct flock range = {
        .l_type = locks ? F_WRLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)offset,
        .l_len = 1,
    };
    return fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}
