#include "CPlaces.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char places[] = {
#embed "places.bin"
};

const unsigned char *places_table(void) { return places; }

size_t places_table_size(void) { return sizeof places; }
