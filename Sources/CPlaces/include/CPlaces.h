#include <stddef.h>

// The table of places (README.md beside this target's sources), in the program's read-only data.
const unsigned char *places_table(void);
size_t places_table_size(void);
