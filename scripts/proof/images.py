"""Small photos with different contents in the formats that a PhotoSync server accepts, and ways to damage a file."""

import functools
import pathlib
import struct
import zlib

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures/media/photos"
# Files of these types get a random comment, so that each is a different photo.
CARRIERS = {
    ".jpg": ("baseline-420.jpg", "gray.jpg", "progressive-420.jpg", "restart-422.jpg"),
    ".gif": ("still.gif",),
    ".webp": ("lossy.webp", "lossless.webp"),
    ".heic": ("still.heic",),
}


@functools.cache
def fixture(name):
    return (FIXTURES / name).read_bytes()


def photo(chance):
    """A new photo: its extension and its bytes."""
    extension = chance.choice((".jpg", ".jpg", ".jpg", ".png", ".png", ".gif", ".webp", ".heic"))
    if extension == ".png":
        return extension, png(chance, chance.choice((8, 16, 16, 300)))
    content = fixture(chance.choice(CARRIERS[extension]))
    return extension, COMMENTED[extension](content, chance.randbytes(chance.randrange(16, 200)))


def png(chance, side):
    """Random pixels (PNG, third edition)."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + chance.randbytes(3 * side) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def commented_jpeg(content, comment):
    """Adds a COM segment after the JFIF segment (ITU-T T.81 B.2.4.5)."""
    place = 2
    if content[2:4] == b"\xff\xe0":
        place = 4 + struct.unpack(">H", content[4:6])[0]
    return content[:place] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + content[place:]


def commented_gif(content, comment):
    """Adds a comment extension after the color table (GIF 89a section 24)."""
    place = 13 + (3 << (content[10] & 7) + 1 if content[10] & 0x80 else 0)
    return content[:place] + b"\x21\xfe" + bytes([len(comment)]) + comment + b"\0" + content[place:]


def commented_webp(content, comment):
    """Adds an unknown chunk at the end, which readers ignore (RFC 9649 section 2.7)."""
    comment += bytes(len(comment) % 2)
    body = content[8:] + b"NOTE" + struct.pack("<I", len(comment)) + comment
    return b"RIFF" + struct.pack("<I", len(body)) + body


def commented_heif(content, comment):
    """Adds a free box at the end (ISO/IEC 14496-12 section 8.1.2)."""
    return content + struct.pack(">I", len(comment) + 8) + b"free" + comment


COMMENTED = {".jpg": commented_jpeg, ".gif": commented_gif, ".webp": commented_webp, ".heic": commented_heif}


def flipped(content, chance):
    """Flips one bit."""
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1:]


def truncated(content, chance):
    return content[:chance.randrange(1, len(content))]
