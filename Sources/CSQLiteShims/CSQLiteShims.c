#include "CSQLiteShims.h"

#include <sqlite3.h>

void sqlite_shim_prepare(void) {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_config(SQLITE_CONFIG_URI, 1);
}

const char *sqlite_shim_library_version(void) {
    return sqlite3_libversion();
}

bool sqlite_shim_is_read_only(void *connection) {
    return sqlite3_db_readonly(connection, "main") == 1;
}

void sqlite_shim_keep_log(void *connection, bool keeps) {
    (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0, (int *)0);
}
