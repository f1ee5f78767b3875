#ifndef C_IMAGE_SHIMS_H
#define C_IMAGE_SHIMS_H

#include <stddef.h>
#include <stdint.h>

/// What the header of a PNG says.
struct depth_png_header {
    uint32_t width;
    uint32_t height;
    /// Whether it holds one channel of 16 bits.
    int is_grey16;
};

/// Room for what libpng says of a file it cannot read.
enum { DEPTH_PNG_MESSAGE_SIZE = 200 };

/// Reads the header of a PNG that lies in memory.
///
/// Returns 0, or -1 with a message. Prints nothing.
int depth_png_read_header(const uint8_t *bytes, size_t count, struct depth_png_header *header, char *message);

/// Reads the samples of a grey PNG of 16 bits as they are stored, without a gamma, times `scale`; row by row from the top.
///
/// `samples` has room for `sample_count`, which must be the header's width × height. Checks the file to its end and
/// refuses bytes after it. Returns 0, or -1 with a message. Prints nothing.
int depth_png_read_samples(const uint8_t *bytes, size_t count, double scale, float *samples, size_t sample_count,
                           char *message);

/// The version of the libpng that this process runs with, as `1.6.39`. Lives as long as the process.
const char *depth_png_library_version(void);

#endif
