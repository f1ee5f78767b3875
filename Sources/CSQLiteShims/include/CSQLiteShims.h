#ifndef CSQLITESHIMS_H
#define CSQLITESHIMS_H

#include <stdbool.h>

/// Disables SQLite's memory statistics, and enables `file:` URIs (`sqlite3_config` with `SQLITE_CONFIG_MEMSTATUS` and
/// `SQLITE_CONFIG_URI`; variadic, which Swift cannot call). The statistics lock a mutex for each allocation, and Debian's
/// SQLite allocates several times per row. Only a URI can open a database as immutable.
///
/// Applies to the whole process. Must be called before the first database is opened; later calls have no effect.
void sqlite_shim_prepare(void);

/// The version of SQLite in use, for example `3.40.1`. Valid until the process exits.
const char *sqlite_shim_library_version(void);

/// Whether SQLite refuses to write to the main database of a connection (`sqlite3_db_readonly`), which GRDB does not provide.
///
/// `connection` is an open `sqlite3 *`.
bool sqlite_shim_is_read_only(void *connection);

/// Sets whether closing the last connection leaves the write-ahead log unchanged (`sqlite3_db_config` with
/// `SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`; variadic, which Swift cannot call).
///
/// `connection` is an open `sqlite3 *`.
void sqlite_shim_keep_log(void *connection, bool keeps);

/// Collects what a connection appends to its write-ahead log, up to 15 frames, and writes it with one call instead of
/// two per frame. The frames are written no later than when SQLite synchronizes or reads the log, or releases the write
/// lock.
///
/// Only for a connection in WAL mode with `synchronous=FULL`, which synchronizes the log before other connections can
/// see a transaction. `connection` is an open `sqlite3 *` that has used its log, for example by a write. Returns false,
/// and changes nothing, if there is not enough memory, the file system's methods are too old, or the log was reopened
/// after an earlier call. Lasts until the connection or its log is closed.
bool sqlite_shim_buffer_log(void *connection);

#endif
