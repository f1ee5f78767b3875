#include "CSQLiteShims.h"

#include <sqlite3.h>

void sqlite_shim_leave_memory_uncounted(void) {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

const char *sqlite_shim_library_version(void) {
    return sqlite3_libversion();
}
