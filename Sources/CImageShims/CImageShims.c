// On an error, libpng calls longjmp, which must not cross Swift frames: all calls to libpng are in this file.
#include "CImageShims.h"

#ifdef IMAGE_LIBRARIES

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    char *message;
};

static void fail(png_structp png, png_const_charp text) {
    struct source *source = png_get_error_ptr(png);
    strncpy(source->message, text, DEPTH_PNG_MESSAGE_SIZE - 1);
    source->message[DEPTH_PNG_MESSAGE_SIZE - 1] = 0;
    png_longjmp(png, 1);
}

// The default handler prints.
static void ignore_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void read_bytes(png_structp png, png_bytep target, size_t count) {
    struct source *source = png_get_io_ptr(png);
    if (count > source->count - source->position) png_error(png, "the file ends early");
    memcpy(target, source->bytes + source->position, count);
    source->position += count;
}

// Shared by both functions. `samples` is null if only the header is required.
static int read_png(struct source *source, struct depth_png_header *header, double scale, float *samples,
                    size_t sample_count) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, source, fail, ignore_warning);
    if (!png) return -1;
    png_infop info = png_create_info_struct(png);
    // Volatile: read after the longjmp.
    uint8_t *volatile rows = NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        free(rows);
        return -1;
    }
    png_set_read_fn(png, source, read_bytes);
    // Ancillary chunks such as texts and profiles are skipped: each states its length, up to 2 GiB, and libpng would
    // allocate that much before it detects that the file is shorter.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, info);
    header->width = png_get_image_width(png, info);
    header->height = png_get_image_height(png, info);
    header->is_gray16 =
        png_get_color_type(png, info) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) == 16;
    if (samples) {
        if (!header->is_gray16 || (size_t)header->width * header->height != sample_count)
            png_error(png, "differs from its header");
        // Each pass of an interlaced image adds to all rows, so all rows are kept; otherwise one is enough.
        int is_interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
        int passes = png_set_interlace_handling(png);
        size_t row_size = png_get_rowbytes(png, info);
        rows = calloc(is_interlaced ? header->height : 1, row_size);
        if (!rows) png_error(png, "out of memory");
        for (int pass = 0; pass < passes; pass++) {
            for (uint32_t y = 0; y < header->height; y++) {
                uint8_t *row = rows + (is_interlaced ? y * row_size : 0);
                png_read_row(png, row, NULL);
                if (pass < passes - 1) continue;
                for (uint32_t x = 0; x < header->width; x++) {
                    unsigned unit = (unsigned)row[2 * x] << 8 | row[2 * x + 1];
                    samples[(size_t)y * header->width + x] = (float)(unit * scale);
                }
            }
        }
        png_read_end(png, NULL);
        if (source->position != source->count) png_error(png, "bytes follow its end");
    }
    png_destroy_read_struct(&png, &info, NULL);
    free(rows);
    return 0;
}

int depth_png_read_header(const uint8_t *bytes, size_t count, struct depth_png_header *header, char *message) {
    strcpy(message, "libpng cannot start");
    struct source source = {bytes, count, 0, message};
    return read_png(&source, header, 0, NULL, 0);
}

int depth_png_read_samples(const uint8_t *bytes, size_t count, double scale, float *samples, size_t sample_count,
                           char *message) {
    strcpy(message, "libpng cannot start");
    struct source source = {bytes, count, 0, message};
    struct depth_png_header header;
    return read_png(&source, &header, scale, samples, sample_count);
}

const char *depth_png_library_version(void) {
    return png_get_libpng_ver(NULL);
}

#endif
