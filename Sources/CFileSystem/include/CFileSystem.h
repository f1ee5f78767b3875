#ifndef CFILESYSTEM_H
#define CFILESYSTEM_H

#include <stdint.h>

/// The `f_type` of statfs(2), which Swift's Glibc module does not offer.
///
/// Returns 0 and fills `type`, or the error number.
int file_system_type(const char *path, uint32_t *type);

#endif
