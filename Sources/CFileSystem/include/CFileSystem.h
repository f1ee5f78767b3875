#ifndef CFILESYSTEM_H
#define CFILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/// The `f_type` of statfs(2), which Swift's Glibc module does not provide.
///
/// Returns 0 and sets `type`, or returns the error number.
int file_system_type(const char *path, uint32_t *type);

/// The creation time of a file (statx(2)), which Swift's Glibc module does not provide.
///
/// Returns seconds since 1970, or -1 if it is unknown.
int64_t birth_time(const char *path);

/// Locks or unlocks one byte of a file for its open file description (`F_OFD_SETLK`), which Swift's Glibc module does not
/// provide. Never waits.
///
/// Returns 0, or the error number: EAGAIN or EACCES if another open file description has locked the byte.
int lock_byte(int descriptor, int64_t offset, bool locks);

/// Like `lock_byte`, locks one byte of a file, but waits while another open file description has locked it
/// (`F_OFD_SETLKW`).
///
/// Returns 0, or the error number.
int await_byte(int descriptor, int64_t offset);

/// Renames within a directory without replacing anything (`renameat2` with `RENAME_NOREPLACE`), which Swift's Glibc module
/// does not provide.
///
/// Returns 0, or the error number: EEXIST if the new name exists, EINVAL if the file system does not support it.
int rename_without_replacing(int directory, const char *old_name, const char *new_name);

/// Reserves space for the first bytes of a file without changing its length (`fallocate` with `FALLOC_FL_KEEP_SIZE`), which
/// Swift's Glibc module does not provide.
///
/// Returns 0, or the error number: ENOSPC if there is not enough space, EOPNOTSUPP if the file system does not support it.
int reserve_space(int descriptor, int64_t byte_count);

/// Starts writing a range of a file to the disk (`sync_file_range` with `SYNC_FILE_RANGE_WRITE`), which Swift's Glibc
/// module does not provide. Does not wait for the disk, and guarantees nothing about its contents; fsync does both.
void begin_writeback(int descriptor, int64_t offset, int64_t byte_count);

/// Creates an anonymous file in memory (`memfd_create`), which Swift's Glibc module does not provide. Close-on-exec.
///
/// Returns its descriptor, or -1 with `errno`.
int open_memory_file(void);

/// Makes all threads share one malloc(3) arena. Each additional arena uses 64 MiB of address space.
void use_one_arena(void);

/// Lets each arena of malloc(3) keep up to 8 MiB of freed memory, including buffers of less than 2 MiB, for reuse. By
/// default it returns the buffers of each upload to the kernel, which then clears their pages for the next one.
void keep_freed_memory(void);

#endif
