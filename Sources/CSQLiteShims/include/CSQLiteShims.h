#ifndef CSQLITESHIMS_H
#define CSQLITESHIMS_H

#include <stdbool.h>

/// Has SQLite keep no count of the memory that it uses, and accept `file:` URIs (`sqlite3_config` with
/// `SQLITE_CONFIG_MEMSTATUS` and `SQLITE_CONFIG_URI`; variadic, which Swift cannot call). The count costs a mutex for each
/// allocation, and Debian's SQLite makes several of them for a row. Only a URI opens a database as immutable.
///
/// For the whole process, and only before its first database is opened: later calls change nothing.
void sqlite_shim_prepare(void);

/// The version of the SQLite that this process runs with, as `3.40.1`. Lives as long as the process.
const char *sqlite_shim_library_version(void);

/// Whether SQLite refuses to write to the main database of a connection (`sqlite3_db_readonly`), which GRDB does not offer.
///
/// `connection` is an open `sqlite3 *`.
bool sqlite_shim_is_read_only(void *connection);

/// Whether closing the last connection leaves the write-ahead log as it is (`sqlite3_db_config` with
/// `SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`; variadic, which Swift cannot call).
///
/// `connection` is an open `sqlite3 *`.
void sqlite_shim_keep_log(void *connection, bool keeps);

#endif
