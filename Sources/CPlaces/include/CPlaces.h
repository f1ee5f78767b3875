#include <stddef.h>
extern const unsigned char places_data[];
extern const size_t places_size;
