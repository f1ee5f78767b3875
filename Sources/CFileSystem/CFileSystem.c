#include "CFileSystem.h"

#include <errno.h>
#include <sys/vfs.h>

int file_system_type(const char *path, uint32_t *type) {
    struct statfs status;
    if (statfs(path, &status) != 0) return errno;
    *type = (uint32_t)status.f_type;
    return 0;
}
