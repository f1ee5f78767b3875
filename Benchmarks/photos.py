"""Pulls, pushes and downloads of photos, compared with their minimum cost."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
import urllib.request

from harness import GB, MIB, WORK, Server, best, interleaved, make_file, measure, spread


def photo_command(client, url, *words):
    return [client.binary, "sync", *words, "--server", url, "--quiet", "--no-input"]


# MARK: Pull


def pulls(table, client, pairs):
    peaks = {count: pull(table, client, pairs, count) for count in (100_000, 1_000_000)}
    few, many = peaks[100_000], peaks[1_000_000]
    table.add("peak memory of a full `sync`, 1,000,000 photos", f"{many:.1f} MiB", f"of 100,000 photos {few:.1f} MiB",
              f"+ {many - few:.1f} MiB", "≤ 80 MiB, and the same", many <= 80 and many - few <= 8)


def pull(table, client, pairs, count):
    """Full and incremental runs over one listing; returns the largest memory of a full one."""
    database = os.path.join(WORK, "floor.sqlite")

    def append():
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(database + suffix):
                os.remove(database + suffix)
        return measure([os.path.join(WORK, "floor"), "append", database, str(count)])

    with Server("photos", "--photos", str(count)) as server:

        def first():
            client.start_afresh()
            return measure(photo_command(client, server.url, "pull"), env=client.env)

        def again():
            return measure(photo_command(client, server.url, "pull", "--full"), env=client.env)

        def incremental():
            post(server.url + "/grow/100")
            return measure(photo_command(client, server.url, "pull"), env=client.env)

        download, rows, whole, repeated = interleaved(
            pairs, lambda: measure([os.path.join(WORK, "floor"), "download", server.url, str(count)]), append, first,
            again)
        (new,) = interleaved(pairs * 2, incremental)
    append_floor, name = best(download, "wall") + best(rows, "wall"), f"{count:,} photos"
    parts = f"pages {spread(download)} + rows {spread(rows)}"
    for what, costs in (("first `sync`", whole), ("`sync pull --full` over a known listing", repeated)):
        ratio = best(costs, "wall") / append_floor
        table.add(f"{what}, {name}", f"{spread(costs)}, {count / best(costs, 'wall'):,.0f} photos/s", parts,
                  f"{ratio:.2f}×", "≤ 3×" if costs is whole else "–", ratio <= 3 if costs is whole else None)
    table.add(f"`sync` of 100 new photos, {name} known", spread(new), "–", f"{best(new, 'wall'):.3f} s", "≤ 0.2 s",
              best(new, "wall") <= 0.2)
    return max(cost.rss_mib for cost in whole + repeated)


def post(url):
    with urllib.request.urlopen(urllib.request.Request(url, data=b"", method="POST")) as answer:
        answer.read()


# MARK: Push


def log_in(client, url):
    client.start_afresh()
    measure([client.binary, "login", "--server", url, "--quiet", "--no-input"], env=client.env)


def make_photos(name, sizes):
    """A tree of files with names of photos and different contents, in the page cache."""
    directory = os.path.join(WORK, name)
    if not os.path.isdir(directory):
        print(f"making {directory}")
        shutil.rmtree(directory + ".part", ignore_errors=True)
        block = os.urandom(16 * MIB)
        for number, size in enumerate(sizes):
            folder = os.path.join(directory + ".part", f"{number // 1000:03}")
            if number % 1000 == 0:
                os.makedirs(folder)
            with open(os.path.join(folder, f"{number:06}.jpg"), "wb") as file:
                file.write(number.to_bytes(8, "little"))
                for start in range(8, size, len(block)):
                    file.write(block[:min(len(block), size - start)])
        os.rename(directory + ".part", directory)
    subprocess.run(["bash", "-c", 'find "$1" -type f -print0 | xargs -0 cat >/dev/null', "bash", directory], check=True)
    return directory


def mixed_sizes():
    """2.1 GB: most files are small, but most of the bytes are in large ones."""
    chance = random.Random(4)
    sizes = [chance.randrange(10_000, 300_000) for _ in range(2000)] + [chance.randrange(2 * MIB, 8 * MIB) for _ in
                                                                        range(250)]
    sizes += [48 * MIB] * 12
    chance.shuffle(sizes)
    return sizes


def hashing(table, client, pairs):
    directory = make_photos("mixed", mixed_sizes())
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names)
    byte_count = sum(map(os.path.getsize, files))
    listing = os.path.join(WORK, "photos.list")
    with open(listing, "w") as file:
        file.write("".join(path + "\0" for path in files))
    with Server("photos", "--photos", "1") as server:
        command = photo_command(client, server.url, "push", directory, "--dry-run")

        def ours(*prefix):
            log_in(client, server.url)
            return measure([*prefix, *command], env=client.env)

        def openssl(*prefix):
            return measure(["bash", "-c", 'xargs -0 -a "$1" "${@:2}" openssl dgst -sha256 >/dev/null', "bash", listing,
                            *prefix])

        one, theirs, both = interleaved(
            pairs, lambda: ours("taskset", "-c", "0"), lambda: openssl("taskset", "-c", "0"), ours)
        per_core = best(theirs, "wall") / best(one, "wall")
        table.add(f"hashing {len(files):,} photos of {byte_count / GB:.1f} GB, one core, `sync push --dry-run`",
                  f"{spread(one)}, {byte_count / best(one, 'wall') / GB:.2f} GB/s",
                  f"`openssl dgst` {spread(theirs)}, {byte_count / best(theirs, 'wall') / GB:.2f} GB/s",
                  f"{per_core:.2f}× the rate", "≥ 0.95×", per_core >= 0.95)
        if os.cpu_count() >= 2:
            gain = best(theirs, "wall") / best(both, "wall")
            table.add(f"the same on {os.cpu_count()} cores",
                      f"{spread(both)}, {byte_count / best(both, 'wall') / GB:.2f} GB/s",
                      "`openssl dgst` on one core " + spread(theirs), f"{gain:.2f}× the rate", "≥ 1.8×", gain >= 1.8)
    unchanged(table, client, pairs)


def unchanged(table, client, pairs):
    """100,000 files with stored digests that are already on the server: none of them is read."""
    directory = make_photos("100000", [500] * 100_000)
    digests, trace = os.path.join(WORK, "100000.sha256"), os.path.join(WORK, "trace")
    with open(digests, "w") as file:
        for folder, _, names in os.walk(directory):
            for name in names:
                with open(os.path.join(folder, name), "rb") as photo:
                    file.write(hashlib.sha256(photo.read()).hexdigest() + "\n")
    with Server("photos", "--photos", "100000", "--digests", digests) as server:
        command = photo_command(client, server.url, "push", directory, "--dry-run")
        log_in(client, server.url)
        measure(photo_command(client, server.url, "pull"), env=client.env)
        first = measure(command, env=client.env)
        (costs,) = interleaved(pairs, lambda: measure(command, env=client.env))
        measure(["strace", "-f", "-y", "-e", "trace=read,pread64,readv,preadv,mmap,sendfile", "-o", trace, *command],
                env=client.env)
    with open(trace) as lines:
        reads = sum(1 for line in lines if f"<{directory}/" in line)
    table.add("second `sync push --dry-run` over 100,000 unchanged files", spread(costs),
              f"first run {first.wall:.3f} s", f"{reads} reads of their content", "0", reads == 0)


# MARK: Download


def download(table, client, pairs):
    """1 GB at loopback speed, and over a 10 Gbit/s link: hashing alone is slower than the loopback."""
    path = make_file(1 * GB, sparse=False)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for line, arguments in (("", []), (", 10 Gbit/s line", ["--pace", "1250000000"])):
        with Server("photos", "--photos", "1", "--file", path, "--sha256", digest, *arguments) as server:
            download_over(line, server, table, client, pairs, path)


def download_over(line, server, table, client, pairs, path):
    target = os.path.join(WORK, "downloads")
    client.start_afresh()
    measure(photo_command(client, server.url, "pull"), env=client.env)
    known = os.path.join(WORK, "known")
    shutil.rmtree(known, ignore_errors=True)
    shutil.copytree(client.home, known)

    def afresh():
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        client.start_afresh()
        shutil.copytree(known, client.home, dirs_exist_ok=True)
        os.sync()

    def ours():
        afresh()
        cost = measure(photo_command(client, server.url, "download", "--missing", "--to", target), env=client.env)
        sizes = [os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(target)
                 for name in names if name.endswith(".jpg")]
        if sizes != [1 * GB]:
            sys.exit(f"benchmark: the download wrote files of {sizes} bytes")
        return cost

    def curl(*after):
        afresh()
        command = ["curl", "--silent", "--output", os.path.join(target, "curl.jpg"),
                   server.url + "/api/photos/any/download"]
        return measure(["bash", "-c", '"$@" && ' + (" && ".join(after) or "true"), "bash", *command])

    mine, theirs, synced, hashed, alone = interleaved(
        pairs, ours, curl, lambda: curl(f"sync {target}/curl.jpg"),
        lambda: curl(f"sync {target}/curl.jpg", f"openssl dgst -sha256 {target}/curl.jpg >/dev/null"),
        lambda: measure(["openssl", "dgst", "-sha256", path]))
    shutil.rmtree(target, ignore_errors=True)
    for name, costs, goal in (("`curl -o`", theirs, 1.05), ("`curl -o` and `sync`", synced, None),
                              ("`curl -o`, `sync` and `openssl dgst`", hashed, None)):
        ratio = best(mine, "wall") / best(costs, "wall")
        # The slower of hashing and receiving is the lower bound.
        floor = max(best(theirs, "wall"), best(alone, "wall")) / best(costs, "wall")
        table.add(f"download of 1 GB{line}, verified and durable, `sync download`", spread(mine),
                  f"{name} {spread(costs)}", f"{ratio:.2f}× (at best {floor:.2f}×)",
                  f"≤ {goal}×" if goal else "–", ratio <= goal if goal else None)
