#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int ctest_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int ctest_spawn_close_others(posix_spawn_file_actions_t *actions) {
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

// The glibc functions change all threads; the system calls change only the calling one.
int ctest_become(unsigned user) {
    if (user != 0) {
        if (syscall(SYS_setgroups, 0, NULL) != 0) return -1;
        if (syscall(SYS_setresgid, -1, user, -1) != 0) return -1;
        return (int)syscall(SYS_setresuid, -1, user, -1);
    }
    if (syscall(SYS_setresuid, -1, 0, -1) != 0) return -1;
    return (int)syscall(SYS_setresgid, -1, 0, -1);
}

ptrdiff_t ctest_find(const void *bytes, size_t count, size_t start, const void *needle, size_t length) {
    if (start > count) return -1;
    const char *found = memmem((const char *)bytes + start, count - start, needle, length);
    return found == NULL ? -1 : found - (const char *)bytes;
}

void ctest_fill(uint8_t *bytes, size_t count, uint64_t state) {
    for (size_t index = 0; index < count; index++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[index] = (uint8_t)(state >> 56);
    }
}
