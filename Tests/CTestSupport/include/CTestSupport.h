// Calls of glibc that Swift does not see, because their headers hide them without _GNU_SOURCE.
#pragma once

#include <spawn.h>

/// A pipe whose ends are born close-on-exec; 0, or -1 and errno.
int ctest_pipe(int ends[2]);

/// Closes every descriptor above the standard streams in the child; 0 or an error number.
int ctest_spawn_close_others(posix_spawn_file_actions_t *actions);

/// Makes this thread alone act as another user, with the rights of nobody else, or as root again (0); 0, or -1 and errno.
int ctest_become(unsigned user);
