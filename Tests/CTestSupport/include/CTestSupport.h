// glibc functions that Swift cannot import, because their headers declare them only with _GNU_SOURCE, and loops that
// are slow in Swift without optimization.
#pragma once

#include <spawn.h>
#include <stddef.h>
#include <stdint.h>

/// Creates a pipe whose ends are close-on-exec; returns 0, or -1 with errno.
int ctest_pipe(int ends[2]);

/// Closes every descriptor above the standard streams in the child; returns 0, or the error number.
int ctest_spawn_close_others(posix_spawn_file_actions_t *actions);

/// Makes only this thread act as another user, without supplementary groups, or as root again (0); returns 0, or -1 with
/// errno.
int ctest_become(unsigned user);

/// The offset of the first `needle` at or after `start`, or -1.
ptrdiff_t ctest_find(const void *bytes, size_t count, size_t start, const void *needle, size_t length);

/// Fills a buffer with the most significant bytes of Knuth's MMIX generator.
void ctest_fill(uint8_t *bytes, size_t count, uint64_t state);
