#ifndef CFILESYSTEM_H
#define CFILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/// The `f_type` of statfs(2), which Swift's Glibc module does not offer.
///
/// Returns 0 and fills `type`, or the error number.
int file_system_type(const char *path, uint32_t *type);

/// When a file was created (statx(2)), which Swift's Glibc module does not offer.
///
/// Returns seconds since 1970, or -1 where this is not known.
int64_t birth_time(const char *path);

/// Locks or unlocks one byte of a file for its open file description (`F_OFD_SETLK`), which Swift's Glibc module does not
/// offer. Never waits.
///
/// Returns 0, or the error number: EAGAIN or EACCES when another open file description has the byte.
int lock_byte(int descriptor, int64_t offset, bool locks);

/// Locks one byte as above, but waits for as long as another open file description has it (`F_OFD_SETLKW`).
///
/// Returns 0, or the error number.
int await_byte(int descriptor, int64_t offset);

/// Renames within a directory without replacing anything (`renameat2` with `RENAME_NOREPLACE`), which Swift's Glibc module
/// does not offer.
///
/// Returns 0, or the error number: EEXIST when the new name is taken, EINVAL where the file system cannot do it.
int rename_without_replacing(int directory, const char *old_name, const char *new_name);

/// Reserves space for the first bytes of a file without changing its length (`fallocate` with `FALLOC_FL_KEEP_SIZE`), which
/// Swift's Glibc module does not offer.
///
/// Returns 0, or the error number: ENOSPC when there is too little, EOPNOTSUPP where the file system cannot do it.
int reserve_space(int descriptor, int64_t byte_count);

/// Has the kernel begin to write a range of a file to the disk (`sync_file_range` with `SYNC_FILE_RANGE_WRITE`), which
/// Swift's Glibc module does not offer. Does not wait for the disk, and says nothing of what is on it: that is fsync's.
void begin_writeback(int descriptor, int64_t offset, int64_t byte_count);

/// A file in memory without a name (`memfd_create`), which Swift's Glibc module does not offer. Close-on-exec.
///
/// Returns its descriptor, or -1 with `errno`.
int open_memory_file(void);

/// Makes all threads share one arena of malloc(3). Each other one takes 64 MiB of addresses.
void use_one_arena(void);

#endif
