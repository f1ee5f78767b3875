"""A disk on which a recorded run took place, and the states in which a power loss may leave it.

Data covered by a sync is present; any part of the other data may be missing:

- A sync of a file makes its data and size durable, but not its name. Names are durable after a sync of their directory;
  each directory contains the first n of the changes since then, for any n.
- Each block of 512 bytes written since the last sync may have any version that it has had since then, alone or in
  groups of 4096 bytes; so may the size. New space contains zeros, or old content of the disk.
- A truncation may or may not have taken effect. fdatasync does not make times durable, and sync_file_range makes
  nothing durable; a file that is mapped for writing (SQLite's -shm) may have any content.
"""

import collections
import hashlib
import os
import pathlib
import random
import shutil
import stat
import struct

from events import Op

SECTOR = 512
RENAME_EXCHANGE = 2


class File:
    """A file: its content after its last sync, and the changes since."""

    def __init__(self, mode, inode, content=b"", label=""):
        self.mode, self.inode, self.label = stat.S_IMODE(mode), inode, label
        self.durable, self.latest, self.pending = bytes(content), bytearray(content), []
        # End of the allocated space, whose bytes are zeros until they are written.
        self.allocated = len(content)
        # Whether the file is written through a mapping, without system calls: such data is never durable.
        self.is_volatile = False
        self.durable_time = self.time = None

    def change(self, kind, offset, value):
        """A write ("w", bytes), or a new size ("t", size)."""
        self.pending.append((kind, offset, value))
        apply(self.latest, kind, offset, value)

    def sync(self, has_times=True):
        self.durable, self.pending = bytes(self.latest), []
        if has_times:
            self.durable_time = self.time


def apply(content, kind, offset, value):
    if kind == "w":
        if offset > len(content):
            content.extend(bytes(offset - len(content)))
        content[offset:offset + len(value)] = value
    elif value < len(content):
        del content[value:]
    else:
        content.extend(bytes(value - len(content)))


# The remainder of a file after a power loss.
Remainder = collections.namedtuple("Remainder", "content mode time is_volatile inode")


class Link:
    """A symbolic link; it is always created completely."""

    def __init__(self, target):
        self.target = target


class Directory:
    """Names after the last sync, and the changes since, each of which is applied completely or not at all."""

    def __init__(self, mode=0o700):
        self.mode = stat.S_IMODE(mode)
        self.durable, self.latest, self.pending = {}, {}, []

    def change(self, *steps):
        """The steps of one change: a name, and its new node or None."""
        self.pending.append(steps)
        for name, node in steps:
            put(self.latest, name, node)

    def sync(self, has_times=True):
        self.durable, self.pending = dict(self.latest), []

    def names(self, count):
        """The names after the first `count` changes."""
        found = dict(self.durable)
        for steps in self.pending[:count]:
            for name, node in steps:
                put(found, name, node)
        return found


def put(names, name, node):
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


class Disk:
    """The existing directories with their contents, and the effects of a trace on them."""

    def __init__(self, roots, ignored=lambda node, event: False):
        # A function of a node and the event of its sync: whether the model ignores this sync.
        self.ignored = ignored
        self.nodes = {}
        self.roots = {str(root): self._existing(pathlib.Path(root)) for root in roots}

    def _existing(self, path):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            node = Link(os.readlink(path))
        elif stat.S_ISDIR(status.st_mode):
            node = Directory(status.st_mode)
            node.latest = {child.name: self._existing(child) for child in path.iterdir()}
            node.sync()
        else:
            node = File(status.st_mode, status.st_ino, path.read_bytes(), path.name)
            node.durable_time = node.time = status.st_mtime_ns
        self.nodes[status.st_ino] = node
        return node

    def apply(self, event):
        """Applies the effect of an event."""
        if event.op == Op.OUTPUT:
            return
        if event.op == Op.OPAQUE:
            raise ValueError(f"the recorder does not record writes of {event.name1}")
        node = self.nodes.get(event.a)
        if event.op == Op.CREATE:
            self.nodes[event.b] = File(event.length, event.b, label=event.name1)
            node.change((event.name1, self.nodes[event.b]))
        elif event.op == Op.WRITE:
            node.change("w", event.offset, event.data)
            node.time = None
        elif event.op == Op.TRUNCATE:
            node.change("t", 0, event.length)
        elif event.op == Op.ALLOCATE:
            self._allocate(node, event)
        elif event.op == Op.SYNC:
            if not self.ignored(node, event):
                # fdatasync does not write times.
                node.sync(has_times=not event.flags)
        elif event.op == Op.MKDIR:
            self.nodes[event.b] = Directory(event.length)
            node.change((event.name1, self.nodes[event.b]))
        elif event.op == Op.SYMLINK:
            self.nodes[event.b] = Link(event.name2)
            node.change((event.name1, self.nodes[event.b]))
        elif event.op == Op.LINK:
            node.change((event.name1, self.nodes[event.b]))
        elif event.op in (Op.UNLINK, Op.RMDIR):
            node.change((event.name1, None))
        elif event.op == Op.RENAME:
            self._rename(event)
        elif event.op == Op.TIMES and isinstance(node, File):
            node.time = event.offset
        elif event.op == Op.MAP and isinstance(node, File):
            node.is_volatile = True

    @staticmethod
    def _allocate(node, event):
        end = event.offset + event.length
        if event.flags & ~1:
            raise ValueError(f"fallocate with mode {event.flags}")
        node.allocated = max(node.allocated, end)
        if not event.flags and end > len(node.latest):
            node.change("t", 0, end)

    def _rename(self, event):
        if event.a != event.b:
            raise ValueError(f"{event.name1} is renamed into another directory: the model has no rule for that")
        directory = self.nodes[event.a]
        moved, replaced = directory.latest[event.name1], directory.latest.get(event.name2)
        other = replaced if event.flags & RENAME_EXCHANGE else None
        directory.change((event.name1, other), (event.name2, moved))
        if isinstance(moved, File):
            moved.label = event.name2

    # States

    def state(self, choice):
        """The remainder after a power loss, by path: a mode for a directory, a target for a link, otherwise content,
        mode and time of a file. `choice` determines the missing parts.
        """
        found = {}
        for path, node in self.roots.items():
            self._collect(path, node, choice, found)
        return found

    def _collect(self, path, node, choice, found):
        if isinstance(node, Directory):
            found[path] = node.mode
            for name, child in node.names(choice.names(node)).items():
                self._collect(f"{path}/{name}", child, choice, found)
        elif isinstance(node, Link):
            found[path] = node.target
        else:
            time = node.time if node.time == node.durable_time or choice.takes_times else node.durable_time
            found[path] = Remainder(choice.content(node), node.mode, time, node.is_volatile, node.inode)


def digest(state):
    """A hash of the content of a state."""
    hasher = hashlib.blake2b(digest_size=16)
    for path in sorted(state):
        value = state[path]
        content = value.content if isinstance(value, Remainder) else str(value).encode()
        if isinstance(value, Remainder) and value.is_volatile:
            content = b""
        hasher.update(f"{path}\0{len(content)}\0".encode(errors="surrogateescape"))
        hasher.update(content)
    return hasher.digest()


def materialize(state, roots, inodes):
    """Creates the directories of a state, and writes the inodes of the files to `inodes`, for inodes.c."""
    pairs = []
    for root in roots:
        shutil.rmtree(root, ignore_errors=True)
    for path in sorted(state):
        value = state[path]
        if isinstance(value, int):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, value)
        elif isinstance(value, str):
            os.symlink(value, path)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, value.content)
            os.fchmod(descriptor, value.mode)
            pairs.append((os.fstat(descriptor).st_ino, value.inode))
            os.close(descriptor)
            if value.time is not None:
                os.utime(path, ns=(value.time, value.time))
    pathlib.Path(inodes).write_bytes(b"".join(struct.pack("<QQ", *pair) for pair in sorted(pairs)))


# The missing parts of a file.
FILE_RULES = ("all", "none", "prefix", "drop", "keep", "subset", "tear", "scatter")


class Choice:
    """The missing parts in one state: everything, nothing, or a random selection."""

    def __init__(self, seed, rule=None, names=None):
        self.random = random.Random(seed)
        self.rule, self.name_rule = rule, names
        self.takes_times = self.random.random() < 0.5
        # The content of a new, unwritten part of a file: zeros, or stale data from the disk.
        self.is_stale = rule is None and self.random.random() < 0.1
        self.base = self.random.choice((None, "all", "none"))
        self.known = {}

    def names(self, directory):
        count = len(directory.pending)
        rule = self.name_rule or self.random.choice(("all", "none", "some"))
        return {"all": count, "none": 0}.get(rule, self.random.randint(0, count))

    def content(self, node):
        if id(node) not in self.known:
            self.known[id(node)] = self._content(node)
        return self.known[id(node)]

    def _content(self, node):
        if node.is_volatile:
            return self.random.choice((b"", bytes(len(node.latest)), self.random.randbytes(len(node.latest))))
        if not node.pending:
            return node.durable
        rule = self.rule
        if rule is None:
            # Often all files except one are complete, so that a single hole occurs alone.
            rule = self.base if self.base and self.random.random() < 0.5 else self.random.choice(FILE_RULES)
        if rule == "all":
            return bytes(node.latest)
        if rule == "none":
            return node.durable
        return Remains(node, rule, self.random, self.is_stale).content()


class Remains:
    """The content of one file after some of its changes since the last sync."""

    def __init__(self, node, rule, chance, is_stale):
        self.node, self.random, self.is_stale = node, chance, is_stale
        self.count = len(node.pending)
        # Sizes after each number of changes; the sectors that each change writes; the changes that truncate the file.
        self.sizes, self.touched, self.cuts = [len(node.durable)], [], []
        for index, (kind, offset, value) in enumerate(node.pending):
            size = self.sizes[-1]
            if kind == "w":
                self.sizes.append(max(size, offset + len(value)))
                self.touched.append(range(offset // SECTOR, (offset + len(value) - 1) // SECTOR + 1))
            else:
                self.sizes.append(value)
                self.touched.append(range(value // SECTOR, (size - 1) // SECTOR + 1) if value < size else range(0))
                if value < size:
                    self.cuts.append(index)
        getattr(self, "_" + rule)()

    # Each rule sets `applied` (the number of applied truncations), `size_at` (the number of changes after which the
    # file had its size) and `versions` (for each sector, the number of changes after which it had its content).

    def _kept(self, kept):
        """These changes are present, and all others are not."""
        self.versions, self.applied = {}, 0
        for index in sorted(kept):
            for sector in self.touched[index]:
                self.versions[sector] = index + 1
        for cut in self.cuts:
            if cut not in kept:
                break
            self.applied += 1
        last = max(kept, default=-1) + 1
        self.size_at = last if self.random.random() < 0.7 else self.random.randint(0, self.count)

    def _prefix(self):
        self._kept(set(range(self.random.randint(0, self.count))))

    def _drop(self):
        self._kept(set(range(self.count)) - {self.random.randrange(self.count)})

    def _keep(self):
        self._kept({self.random.randrange(self.count)})

    def _subset(self):
        self._kept({index for index in range(self.count) if self.random.random() < 0.5})

    def _tear(self):
        """One change is present in parts of 512 or 4096 bytes; earlier ones are present, and later ones may be."""
        torn = self.random.randrange(self.count)
        later = range(torn + 1, self.count if self.random.random() < 0.3 else torn + 1)
        self._kept(set(range(torn)) | set(later))
        blocks = self._blocks(self.touched[torn])
        kind, split = self.random.choice(("first", "last", "some")), self.random.randint(0, len(blocks))
        for number, block in enumerate(blocks):
            if {"first": number < split, "last": number >= split}.get(kind, self.random.random() < 0.5):
                for sector in block:
                    self.versions[sector] = max(torn + 1, self.versions.get(sector, 0))
        self.size_at = self.random.choice((torn, torn + 1, self.size_at))

    def _scatter(self):
        """Each block of 512 or 4096 bytes has its content at some time since the last sync."""
        self.versions = {}
        choices = {}
        for index, sectors in enumerate(self.touched):
            for sector in sectors:
                choices.setdefault(sector, [0]).append(index + 1)
        for block in self._blocks(sorted(choices)):
            moment = self.random.random()
            for sector in block:
                self.versions[sector] = choices[sector][int(moment * len(choices[sector]))]
        self.applied = self.random.randint(0, len(self.cuts))
        self.size_at = self.random.randint(0, self.count)

    def _blocks(self, sectors):
        """The sectors in groups that are written to the disk together."""
        per_block = self.random.choice((1, 8))
        blocks = {}
        for sector in sectors:
            blocks.setdefault(sector // per_block, []).append(sector)
        return list(blocks.values())

    def content(self):
        lowest = self.cuts[self.applied - 1] + 1 if self.applied else 0
        highest = self.cuts[self.applied] if self.applied < len(self.cuts) else self.count
        size = self.sizes[min(max(self.size_at, lowest), highest)]
        self._respect_cuts()
        result = bytearray(self.node.durable) + bytes(max(self.sizes) - len(self.node.durable))
        if self.is_stale:
            start = max(len(self.node.durable), self.node.allocated)
            start += -start % SECTOR
            if start < len(result):
                result[start:] = self.random.randbytes(len(result) - start)
        moving = bytearray(self.node.durable)
        for index, change in enumerate(self.node.pending):
            apply(moving, *change)
            for sector in self.touched[index]:
                if self.versions.get(sector) == index + 1:
                    part = bytes(moving[sector * SECTOR:(sector + 1) * SECTOR])
                    result[sector * SECTOR:(sector + 1) * SECTOR] = part.ljust(SECTOR, b"\0")
        return bytes(result[:size]).ljust(size, b"\0")

    def _respect_cuts(self):
        """Truncated data cannot reappear, and data written after a truncation was not present before it."""
        for number, cut in enumerate(self.cuts):
            start = (self.node.pending[cut][2] + SECTOR - 1) // SECTOR
            sectors = {sector for sectors in self.touched for sector in sectors if sector >= start}
            for sector in sectors:
                version = self.versions.get(sector, 0)
                if number < self.applied:
                    self.versions[sector] = max(version, cut + 1)
                elif version > cut:
                    earlier = [index + 1 for index in range(cut) if sector in self.touched[index]]
                    self.versions[sector] = max(earlier, default=0)
