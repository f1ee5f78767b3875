#!/usr/bin/env python3
"""Writes packaging/symbols.order: the functions that common commands call, for the linker's --symbol-ordering-file.

The kernel maps 16 pages of a program at a time. With these functions side by side, an upload needs half of the memory
for code (docs/packaging.md). Called by `make symbols` with a program that has symbols, its linker map
(not demangled), and the output. A name that no longer exists is ignored by the linker.

Requires valgrind and a C compiler: callgrind lists the instructions that each command executed.
"""

import bisect
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Names with a hash of a file, and local names with a number, change with the sources.
UNSTABLE = re.compile(r"33_[0-9A-F]{32}|\.\d+$")


def main():
    binary, linker_map, output = sys.argv[1:]
    sections = text_sections(linker_map)
    order, seen = [], set()
    with tempfile.TemporaryDirectory() as work:
        for profile in profiles(os.path.abspath(binary), work):
            touched = touched_sections(profile, os.path.basename(binary), sections) - seen
            seen |= touched
            order += sorted(touched)
    names = [name for name in (best_name(sections[index][2]) for index in order) if name]
    with open(output, "w") as file:
        file.write("".join(name + "\n" for name in names))
    size = sum(sections[index][1] for index in order)
    print(f"{len(names)} sections, {size // 1024} KiB: {output}")


def text_sections(linker_map):
    """(address, size, symbols) of each section of code, by address."""
    sections = []
    symbols = None
    for line in open(linker_map, errors="replace"):
        match = re.match(r" *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ +(.*)$", line)
        if not match:
            continue
        section = re.match(r"\S.*:\((\.[^)]*)\)$", match[3])
        if section:
            symbols = []
            if section[1].startswith(".text"):
                sections.append((int(match[1], 16), int(match[2], 16), symbols))
        elif match[3].startswith("."):
            symbols = None  # an output section
        elif symbols is not None:
            symbols.append(match[3])
    return sorted(sections, key=lambda section: section[0])


def best_name(symbols):
    return min(symbols, key=lambda name: (bool(UNSTABLE.search(name)), len(name), name), default=None)


def touched_sections(profile, program, sections):
    """The indexes of the sections with instructions that were executed (callgrind's format, with --dump-instr)."""
    starts = [section[0] for section in sections]
    objects, current, address, touched = {}, "", 0, set()
    for line in open(profile):
        named = re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line)
        if named:
            if named[3]:
                objects[named[2]] = named[3].strip()
            if named[1] == "ob":
                current = objects[named[2]]
            continue
        position = re.match(r"(0x[0-9a-f]+|[+-]\d+|\*) ", line)
        if not position:
            continue
        text = position[1]
        if text[0] == "0":
            address = int(text, 16)
        elif text != "*":
            address += int(text)
        if os.path.basename(current) == program:
            index = bisect.bisect_right(starts, address) - 1
            if index >= 0 and address < starts[index] + sections[index][1]:
                touched.add(index)
    return touched


def profiles(binary, work):
    """Runs the commands, the most common code first."""
    home = os.path.join(work, "home")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEDIACTL_", "XDG_"))}
    env |= {"HOME": home, "MEDIACTL_PASSWORD": "order", "MEDIACTL_API_KEY": "0" * 64}
    files = os.path.join(work, "files")
    os.makedirs(files)
    os.makedirs(home)
    for number in range(20):
        with open(os.path.join(files, f"{number}.mp4"), "wb") as file:
            file.write(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + os.urandom(2_000_000 if number == 0 else 1000))
    with server(work, "sink") as uploads, server(work, "photos", "--photos", "2000") as photos:
        login = ["--server", uploads.url, "--user", "order", "--no-input"]
        commands = [
            ["--version"],
            ["upload", *login, "--label", "order", os.path.join(files, "0.mp4")],
            ["upload", *login, "--transport", "tus", "--again", os.path.join(files, "0.mp4")],
            ["upload", *login, "--quiet", "--recursive", "-j", "8", files],
            ["uploads", "list"],
            ["uploads", "list", "--json"],
            ["sync", "pull", "--server", photos.url, "--no-input"],
            ["sync", "list", "--server", photos.url, "--no-input"],
            ["upload", "--help"],
        ]
        for number, command in enumerate(commands):
            profile = os.path.join(work, f"profile.{number}")
            subprocess.run(
                ["valgrind", "--quiet", "--tool=callgrind", "--dump-instr=yes", "--demangle=no",
                 f"--callgrind-out-file={profile}", binary, *command],
                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(os.path.basename(binary), *command[:2], flush=True)
            yield profile


class server:
    """A server of Benchmarks/sink, compiled into the working directory."""

    def __init__(self, work, name, *arguments):
        program = os.path.join(work, name)
        source = os.path.join(ROOT, "Benchmarks", "sink", name + ".c")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", program, source], check=True)
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    main()
