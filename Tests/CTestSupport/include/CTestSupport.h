// glibc functions that Swift cannot import, because their headers declare them only with _GNU_SOURCE.
#pragma once

#include <spawn.h>

/// Creates a pipe whose ends are close-on-exec; returns 0, or -1 with errno.
int ctest_pipe(int ends[2]);

/// Closes every descriptor above the standard streams in the child; returns 0, or the error number.
int ctest_spawn_close_others(posix_spawn_file_actions_t *actions);

/// Makes only this thread act as another user without further groups, or as root again (0); returns 0, or -1 with errno.
int ctest_become(unsigned user);
