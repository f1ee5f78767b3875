#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int ctest_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int ctest_spawn_close_others(posix_spawn_file_actions_t *actions) {
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

// The glibc functions change all threads; the system calls change only the calling one.
int ctest_become(unsigned user) {
    if (user != 0) {
        if (syscall(SYS_setresgid, -1, user, -1) != 0) return -1;
        return (int)syscall(SYS_setresuid, -1, user, -1);
    }
    if (syscall(SYS_setresuid, -1, 0, -1) != 0) return -1;
    return (int)syscall(SYS_setresgid, -1, 0, -1);
}
