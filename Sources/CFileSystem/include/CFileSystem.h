#ifndef CFILESYSTEM_H
#define CFILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/// The `f_type` of statfs(2), which Swift's Glibc module does not offer.
///
/// Returns 0 and fills `type`, or the error number.
int file_system_type(const char *path, uint32_t *type);

/// Locks or unlocks one byte of a file for its open file description (`F_OFD_SETLK`), which Swift's Glibc module does not
/// offer. Never waits.
///
/// Returns 0, or the error number: EAGAIN or EACCES when another open file description has the byte.
int lock_byte(int descriptor, int64_t offset, bool locks);

#endif
