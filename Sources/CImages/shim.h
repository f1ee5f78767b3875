#include <stddef.h>
#include <stdio.h>
#include <libexif/exif-data.h>
#include <png.h>
#include <zlib.h>
