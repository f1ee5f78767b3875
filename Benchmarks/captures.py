"""Hash-only captures, compared with the minimum cost of hashing; and depth analysis alone."""

import os
import shutil
import subprocess

from harness import GB, WORK, best, interleaved, make_file, measure, spread

# Required members of a video that cannot be computed from an encoded file.
VIDEO = ["--media-type", "video", "--hash-chain", "00" * 32 + ":150", "--frame-count", "150", "--duration-ms", "5000"]


def capture_command(client, url, *words):
    return [client.binary, "hash-only", "send", *words, "--server", url, "--no-depth", "--quiet", "--no-input"]


def hashing(table, client, pairs):
    """A dry run only reads and hashes the file."""
    client.start_afresh()
    peaks = {}
    for size in (1 * GB, 4 * GB):
        path = make_file(size, sparse=False)
        ours, theirs = interleaved(
            pairs,
            lambda: measure(capture_command(client, "http://127.0.0.1:9", path, *VIDEO, "--dry-run"), env=client.env),
            lambda: measure(["openssl", "dgst", "-sha256", path]))
        peaks[size] = max(cost.rss_mib for cost in ours)
        ratio = best(theirs, "wall") / best(ours, "wall")
        table.add(f"`hash-only send --dry-run` of {size // GB} GB", f"{spread(ours)}, {size / best(ours, 'wall') / GB:.2f} GB/s",
                  f"`openssl dgst` {spread(theirs)}, {size / best(theirs, 'wall') / GB:.2f} GB/s", f"{ratio:.2f}× the rate",
                  "≥ 0.95×", ratio >= 0.95)
    growth = peaks[4 * GB] - peaks[1 * GB]
    table.add("its peak memory, 4 GB", f"{peaks[4 * GB]:.1f} MiB", f"1 GB {peaks[1 * GB]:.1f} MiB", f"+ {growth:.1f} MiB",
              "the same", growth <= 2)


def keeping(table, client, pairs, sandbox):
    """A whole capture of 1 GB: hashed, encrypted into the vault, synced, signed, accepted."""
    path, data = make_file(1 * GB, sparse=False), os.path.join(WORK, "capture-server")
    copy = os.path.join(WORK, "copy")

    def ours():
        # A server accepts the same media only once.
        shutil.rmtree(data, ignore_errors=True)
        client.start_afresh()
        with subprocess.Popen([sandbox, "--data", data], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().split()[-1]
                measure([client.binary, "hash-only", "register", "--server", url, "--quiet", "--no-input"],
                        env=client.env)
                return measure(capture_command(client, url, path, *VIDEO), env=client.env)
            finally:
                server.terminate()

    def theirs():
        return measure(["bash", "-c", 'openssl dgst -sha256 "$1" >/dev/null && openssl enc -aes-256-ctr -K "$3" -iv 0 '
                        '-in "$1" -out "$2" 2>/dev/null && sync "$2"', "bash", path, copy, "00" * 32])

    kept, floor = interleaved(pairs, ours, theirs)
    ratio = best(kept, "wall") / best(floor, "wall")
    table.add("`hash-only send` of 1 GB: hash, encrypt, store, sign, send", spread(kept),
              f"`openssl dgst`, then `openssl enc -aes-256-ctr` and `sync` {spread(floor)}", f"{ratio:.2f}×", "–", None)
    table.add("its peak memory", f"{max(cost.rss_mib for cost in kept):.1f} MiB", "–", "–", "–", None)


def depth(table):
    """Depth analysis in memory; a map of 12 megapixels does not fit into a core's cache."""
    for width, height, rounds, goal in ((256, 192, 200, 0.005), (4000, 3000, 10, None)):
        output = subprocess.run([os.path.join(WORK, "depth-bench"), str(width), str(height), str(rounds)],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        ours, copy = float(output[0]), float(output[1])
        table.add(f"depth analysis of {width}×{height}", f"{ours * 1000:.2f} ms", f"`memcpy` of the map {copy * 1000:.2f} ms",
                  f"{ours * 1e9 / (width * height):.1f} ns per sample", "≤ 5 ms" if goal else "–",
                  ours <= goal if goal else None)
