#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <unistd.h>

int ctest_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int ctest_spawn_close_others(posix_spawn_file_actions_t *actions) {
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}
