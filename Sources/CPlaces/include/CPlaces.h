#include <stddef.h>

// The table of places (see README.md of this target), in the program's read-only data.
const unsigned char *places_table(void);
size_t places_table_size(void);
