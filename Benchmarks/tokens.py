#!/usr/bin/env python3
"""Time and memory of the commands for delete tokens, with COUNT tokens (default: 1,000,000).

    Benchmarks/tokens.py BINARY [COUNT]

Prints a table: the command, seconds, peak resident memory (VmHWM) in MiB. Needs about 2 GB of disk in $TMPDIR.
"""

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time


def tokens(count):
    """Lines of an export (docs/json.md, mediactl.token-export/1)."""
    for number in range(1, count + 1):
        digest = hashlib.sha256(b"%d" % number).hexdigest()
        token = hashlib.sha256(b"token %d" % number).hexdigest()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_700_000_000 + number))
        yield (
            '{"base_url":"https://media.example","checksum_sha256":"%s","created_at":"%s.000Z","delete_token":"%s",'
            '"event_date":"2026-05-01","event_type":"band","file_id":%d,"file_name":"clip-%d.mp4","file_type":"video",'
            '"host":"media.example","label":"Song %d","org_name":"The Larks","schema":"mediactl.token-export/1",'
            '"size_bytes":%d,"superseded":false}\n'
        ) % (digest, stamp, token, number, number, number, 1_000_000 + number)


def measure(name, command, environment):
    """Runs a command in a separate small process: the kernel also counts the memory of the process that forked it."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reader)
        start = time.monotonic()
        with open(os.devnull, "w") as null:
            code = subprocess.run(command, env=environment, stdout=null).returncode
        seconds = time.monotonic() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        os.write(writer, f"{code} {seconds} {memory}".encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    code, seconds, memory = os.read(reader, 100).decode().split()
    os.close(reader)
    print(f"{name:<28} {float(seconds):8.3f} s {int(memory) / 1024:8.1f} MiB", flush=True)
    if code != "0":
        sys.exit(f"{name}: exit code {code}")


def main():
    binary = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        source = os.path.join(home, "tokens.jsonl")
        with open(source, "w") as file:
            file.writelines(tokens(count))
        copy = os.path.join(home, "copy.jsonl")
        uploads = [binary, "uploads"]
        measure("import", uploads + ["import", source], environment)
        measure("list", uploads + ["list"], environment)
        measure("list --json", uploads + ["list", "--json"], environment)
        measure("show", uploads + ["show", str(count // 2)], environment)
        measure("delete --dry-run", uploads + ["delete", str(count // 2), "--dry-run", "--yes"], environment)
        measure("export", uploads + ["export", "--output", copy], environment)
        measure("store check", [binary, "store", "check"], environment)
        measure("clear", uploads + ["clear", "--all-hosts", "--yes"], environment)
        measure("import of the export", uploads + ["import", copy], environment)


main()
