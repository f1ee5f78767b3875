"""The events recorded by recorder.c."""

import collections
import enum
import struct

HEADER = struct.Struct("<IIIIQQQQQqqIIII")
MAGIC = 0x50524F46


class Op(enum.IntEnum):
    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    ALLOCATE = 4
    SYNC = 5
    RENAME = 6
    UNLINK = 7
    LINK = 8
    MKDIR = 9
    RMDIR = 10
    SYMLINK = 11
    OUTPUT = 12
    TIMES = 13
    MAP = 14
    OPAQUE = 15


# a, b: inodes; time: nanoseconds of CLOCK_MONOTONIC, as in time.monotonic_ns().
Event = collections.namedtuple("Event", "op flags time a b offset length name1 name2 data")


def read(path):
    """The events of a trace, in order."""
    content, place, events = path.read_bytes(), 0, []
    while place < len(content):
        fields = HEADER.unpack_from(content, place)
        magic, size, op, flags, time, _, a, b, _, offset, length, name1, name2, data = fields[:14]
        if magic != MAGIC:
            raise ValueError(f"{path}: not a trace at byte {place}")
        rest = content[place + HEADER.size:place + size]
        names = rest[:name1].decode(errors="surrogateescape"), rest[name1:name1 + name2].decode(errors="surrogateescape")
        events.append(Event(Op(op), flags, time, a, b, offset, length, *names, rest[name1 + name2:]))
        place += size
    return events
