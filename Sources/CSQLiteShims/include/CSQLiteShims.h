#ifndef CSQLITESHIMS_H
#define CSQLITESHIMS_H

/// Has SQLite keep no count of the memory that it uses (`sqlite3_config` with `SQLITE_CONFIG_MEMSTATUS`; variadic, which
/// Swift cannot call). The count costs a mutex for each allocation, and Debian's SQLite makes several of them for a row.
///
/// For the whole process, and only before its first database is opened: later calls change nothing.
void sqlite_shim_leave_memory_uncounted(void);

/// The version of the SQLite that this process runs with, as `3.40.1`. Lives as long as the process.
const char *sqlite_shim_library_version(void);

#endif
