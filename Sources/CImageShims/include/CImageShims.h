#ifndef C_IMAGE_SHIMS_H
#define C_IMAGE_SHIMS_H

#include <stddef.h>
#include <stdint.h>

/// The header of a PNG.
struct depth_png_header {
    uint32_t width;
    uint32_t height;
    /// Whether the image has a single 16-bit channel.
    int is_gray16;
};

/// Size of the buffer for libpng's error message.
enum { DEPTH_PNG_MESSAGE_SIZE = 200 };

/// Reads the header of a PNG in memory.
///
/// Returns 0, or -1 with a message. Prints nothing.
int depth_png_read_header(const uint8_t *bytes, size_t count, struct depth_png_header *header, char *message);

/// Reads the samples of a 16-bit grayscale PNG, multiplied by `scale`, without gamma correction, row by row from the top.
///
/// `samples` has space for `sample_count` samples, which must be the header's width × height. Checks the whole file and
/// refuses bytes after its end. Returns 0, or -1 with a message. Prints nothing.
int depth_png_read_samples(const uint8_t *bytes, size_t count, double scale, float *samples, size_t sample_count,
                           char *message);

/// The version of libpng in use, for example `1.6.39`. Valid until the process exits.
const char *depth_png_library_version(void);

#endif
