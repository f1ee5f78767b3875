#include "CPlaces.h"
#pragma clang diagnostic ignored "-Wc23-extensions"
const unsigned char places_data[] = {
#embed "places.bin"
};
const size_t places_size = sizeof places_data;
