"""Measures mediactl against curl and openssl and writes docs/benchmarks.md.

Every comparison runs both programs alternately, N pairs, against the same sink. The minimum shows the undisturbed
performance of the machine; the median shows how much it was disturbed. Ratios are between minima of one run. This is
not a test: a missed goal is printed as missed, and the run still exits with 0. A run in which the sink is the
bottleneck is void and exits with 1.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

from harness import (
    GB, MIB, ROOT, WORK, Server, Table, best, interleaved, make_file, make_files, measure, peak_private_dirty, spread,
)

import captures
import photos
import tapes

REPORT = os.path.join(ROOT, "docs", "benchmarks.md")
NOTES_MARK = "<!-- Written by hand from here on; kept by make bench. -->"


class Client:
    """mediactl with a separate home directory."""

    def __init__(self, binary):
        self.use(binary)
        self.home = os.path.join(WORK, "home")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("MEDIACTL_", "XDG_"))}
        self.env.update(
            HOME=self.home, XDG_CONFIG_HOME=self.home + "/config", XDG_DATA_HOME=self.home + "/data",
            XDG_STATE_HOME=self.home + "/state", XDG_CACHE_HOME=self.home + "/cache", MEDIACTL_PASSWORD="bench",
            MEDIACTL_API_KEY="0" * 64)
        self.start_afresh()

    def use(self, binary):
        self.binary = os.path.abspath(binary)
        text = output(binary, "upload", "--help")
        # In 0.1.0 the option is --force, and it skips the comparison with the listing. The sink's listing is empty.
        self.again = "--again" if "--again" in text else "--force"
        self.unlisted = ["--no-verify"] if "--no-verify" in text else []

    @property
    def data(self):
        return self.home + "/data/mediactl"

    def start_afresh(self):
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.home)

    def many_command(self, url, directory, *more):
        return [self.binary, "upload", "--recursive", directory, "--server", url, "--user", "bench", "--quiet",
                "--no-input", "-j", "8", *self.unlisted, *more]

    def upload_command(self, url, path):
        return [self.binary, "upload", "--server", url, "--user", "bench", "--quiet", "--no-input", self.again,
                "--label", "bench", path]

    def upload(self, url, path, *more):
        self.start_afresh()
        return measure(self.upload_command(url, path) + list(more), env=self.env)

    def upload_private_dirty(self, url, path):
        self.start_afresh()
        return peak_private_dirty(self.upload_command(url, path), env=self.env)

    def upload_many(self, url, directory):
        self.start_afresh()
        return measure(self.many_command(url, directory), env=self.env)

    def durable_batch(self, url, directory):
        """The least that a batch of the same durability costs: sink/batch.c, in a new store."""
        self.start_afresh()
        self.list()
        return measure([os.path.join(WORK, "batch"), url, directory, self.data])

    def list(self):
        return measure(self.list_command(), env=self.env)

    def list_command(self):
        return [self.binary, "uploads", "list", "--all-hosts"]


def single_uploads(table, client, sizes, pairs):
    ceilings = []
    transport = os.path.join(WORK, "transport-bench")
    for size in sizes:
        path = make_file(size, sparse=size > 2 * GB)
        label = f"{size // GB} GB"
        with Server("sink") as sink:
            target = sink.url + "/api/uploads.php"
            curl = ["curl", "--silent", "--output", "/dev/null", "-F", "label=bench", "-F", f"file=@{path}", target]
            raw, digest, library, theirs, ours, after = interleaved(
                pairs,
                lambda: measure([os.path.join(WORK, "sink"), "--send", sink.port, str(size)]),
                lambda: measure(["openssl", "dgst", "-sha256", path]),
                lambda: measure([transport, sink.url, path]),
                lambda: measure(curl),
                lambda: client.upload(sink.url, path),
                lambda: measure(hashing_first(path, curl)))
        fastest = min(best(library, "wall"), best(theirs, "wall"))
        ceilings.append((label, size / best(raw, "wall") / GB, size / fastest / GB))

        wall = best(library, "wall") / best(theirs, "wall")
        cpu = best(library, "cpu") / best(theirs, "cpu")
        table.add(f"multipart and transport alone, {label}, wall", spread(library), "`curl -F` " + spread(theirs),
                  f"{wall:.2f}×", "≤ 1.05×", wall <= 1.05)
        table.add(f"multipart and transport alone, {label}, CPU", spread(library, "cpu"),
                  "`curl -F` " + spread(theirs, "cpu"), f"{cpu:.2f}×", "≤ 1.3×", cpu <= 1.3)
        same_pass(table, label, ours, after, digest, theirs)
    return ceilings


def hashing_first(path, command):
    return ["bash", "-c", 'openssl dgst -sha256 "$1" >/dev/null && shift && exec "$@"', "bash", path, *command]


def same_pass(table, what, ours, sequence, digest, sending):
    ratio = best(ours, "wall") / best(sequence, "wall")
    # The slower of the two halves is the lower bound.
    floor = max(best(digest, "wall"), best(sending, "wall")) / best(sequence, "wall")
    table.add(f"`mediactl upload`, SHA-256 in the same pass, {what}", spread(ours),
              "`openssl dgst`, then `curl -F` " + spread(sequence), f"{ratio:.2f}× (at best {floor:.2f}×)",
              "≤ 0.70×", ratio <= 0.70)


def upload_on_a_line(table, client, pairs):
    """The same pass with a limited sending rate: into a sink that simulates a 10 Gbit/s link."""
    path = make_file(1 * GB, sparse=False)
    with Server("sink", "--pace", "1250000000") as sink:
        curl = ["curl", "--silent", "--output", "/dev/null", "-F", "label=bench", "-F", f"file=@{path}",
                sink.url + "/api/uploads.php"]
        digest, theirs, ours, after = interleaved(
            pairs,
            lambda: measure(["openssl", "dgst", "-sha256", path]),
            lambda: measure(curl),
            lambda: client.upload(sink.url, path),
            lambda: measure(hashing_first(path, curl)))
    same_pass(table, "1 GB, 10 Gbit/s line", ours, after, digest, theirs)


def tus_uploads(table, client, pairs):
    """tus against `curl -T`: into an unlimited sink, and into one that simulates a 10 Gbit/s link."""
    path = make_file(1 * GB, sparse=False)
    transport = os.path.join(WORK, "transport-bench")
    for name, arguments, goal in (("", [], None), (", 10 Gbit/s line", ["--pace", "1250000000"], 1.15)):
        with Server("sink", *arguments) as sink:
            library, theirs, ours, digest = interleaved(
                pairs,
                lambda: measure([transport, "tus", sink.url, path]),
                lambda: measure(["curl", "--silent", "--output", "/dev/null", "-T", path, sink.url + "/put"]),
                lambda: client.upload(sink.url, path, "--transport", "tus"),
                lambda: measure(["openssl", "dgst", "-sha256", path]))
        # The slower of hashing and sending is the lower bound.
        floor = max(best(theirs, "wall"), best(digest, "wall")) / best(theirs, "wall")
        for what, costs in (("tus and hash alone", library), ("`mediactl upload --transport tus`", ours)):
            ratio = best(costs, "wall") / best(theirs, "wall")
            table.add(f"{what}, 1 GB{name}", spread(costs), "`curl -T` " + spread(theirs),
                      f"{ratio:.2f}× (at best {floor:.2f}×)", "≤ 1.15×" if goal else "–",
                      ratio <= goal if goal else None)


def curl_for_many(url, directory):
    """The command that uploads all files of a directory with one curl, 8 at a time."""
    settings = os.path.join(WORK, "curl.conf")
    with open(settings, "w") as file:
        file.write("next\n".join(
            f'url = "{url}/api/uploads.php"\nform = "label=bench"\nform = "file=@{os.path.join(directory, name)}"\n'
            'output = "/dev/null"\n' for name in sorted(os.listdir(directory))))
    return ["curl", "--silent", "--parallel", "--parallel-immediate", "--parallel-max", "8", "-K", settings]


def many_files(table, client, pairs):
    """2,000 files of 100 KB, with hashes, a journal and tokens on disk, against curl, which stores nothing."""
    count, directory = 2000, make_files(2000, 100_000)
    listing = os.path.join(WORK, "files")
    with open(listing, "w") as file:
        file.write("".join(os.path.join(directory, name) + "\n" for name in sorted(os.listdir(directory))))
    with Server("sink") as sink:
        one_process = curl_for_many(sink.url, directory)
        processes = ["bash", "-c", 'xargs -P8 -I{} curl --silent --output /dev/null -F label=bench -F file=@{} "$1" <"$2"',
                     "bash", sink.url + "/api/uploads.php", listing]
        ours, bare, theirs, each = interleaved(
            pairs,
            lambda: client.upload_many(sink.url, directory),
            lambda: client.durable_batch(sink.url, directory),
            lambda: measure(one_process),
            lambda: measure(processes))
    what = "2,000 files of 100 KB, `upload -j 8`"
    for name, costs, goal in (("`curl -Z --parallel-max 8`", theirs, 0.5), ("`xargs -P8 curl`", each, 5)):
        add_many(table, what, count, ours, name, costs, goal, best(costs, "wall") / best(bare, "wall"))
    table.add(what + ", CPU per file", f"{1000 * best(ours, 'cpu') / count:.2f} ms",
              f"`curl -Z` {1000 * best(theirs, 'cpu') / count:.2f} ms, at best {1000 * best(bare, 'cpu') / count:.2f} ms",
              f"{best(ours, 'cpu') / best(bare, 'cpu'):.2f}× the best", "–", None)


def many_files_on_a_line(table, client, pairs):
    """Small, medium and large files over links with a 20 ms round trip, where latency matters more than CPU time."""
    for count, size, what in ((10_000, 10_000, "10,000 files of 10 KB"), (2000, 100_000, "2,000 files of 100 KB"),
                              (200, 5_000_000, "200 files of 5 MB")):
        directory = make_files(count, size)
        for gigabits in (1, 10):
            with Server("sink", "--line", str(gigabits * 125_000_000), "--delay", "20") as sink:
                ours, theirs = interleaved(
                    pairs,
                    lambda: client.upload_many(sink.url, directory),
                    lambda: measure(curl_for_many(sink.url, directory)))
            add_many(table, f"{what}, {gigabits} Gbit/s and 20 ms, `upload -j 8`", count, ours,
                     "`curl -Z --parallel-max 8`", theirs, 0.8)
        shutil.rmtree(directory)


def add_many(table, what, count, ours, name, theirs, goal, floor=None):
    ratio = best(theirs, "wall") / best(ours, "wall")
    at_best = f" (at best {floor:.2f}×)" if floor else ""
    table.add(what, f"{count / best(ours, 'wall'):.0f} files/s, " + spread(ours),
              f"{name} {count / best(theirs, 'wall'):.0f} files/s, " + spread(theirs),
              f"{ratio:.2f}× the files/s{at_best}", f"≥ {goal}×", ratio >= goal)


def many_files_memory(table, client):
    with Server("sink") as sink:
        few, many = (max(client.upload_many(sink.url, make_files(count, 1000)).rss_mib for _ in range(3))
                     for count in (50, 5000))
    table.add("peak memory of 5,000 files, `upload -j 8`", f"{many:.1f} MiB", f"of 50 files {few:.1f} MiB",
              f"+ {many - few:.1f} MiB", "≤ + 10 MiB", many - few <= 10)


def second_run(table, client, pairs, sandbox):
    """10,000 files already on the server: no file is read or sent, and one listing is requested."""
    directory, data = make_files(10_000, 300), os.path.join(WORK, "sandbox")
    shutil.rmtree(data, ignore_errors=True)
    server = subprocess.Popen([sandbox, "--listen", "127.0.0.1:0", "--data", data, "--user", "bench:bench"],
                              stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[-1]
        client.start_afresh()
        env = client.env | {"MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader"}
        command = [word for word in client.many_command(url, directory) if word not in ("--user", "bench")]
        measure(command, env=env)  # the first run uploads them
        seen = len(requests(url))
        (costs,) = interleaved(pairs, lambda: measure(command, env=env))
        sent_requests = requests(url)[seen:]
    finally:
        server.kill()
        server.wait()
    sent = sum(request["body_bytes_read"] for request in sent_requests)
    if any(request["method"] != "GET" for request in sent_requests):
        sys.exit("benchmark: the second run sent something")
    table.add("second run over 10,000 unchanged files", spread(costs),
              f"{len(sent_requests) / (pairs + 1):.0f} requests per run, pages of the listing", f"{sent} bytes sent", "0 bytes",
              sent == 0)


def requests(url):
    with urllib.request.urlopen(url + "/__sandbox/requests") as answer:
        return json.load(answer)


def peak_memory(table, client):
    with Server("sink") as sink:
        peaks, dirty = {}, {}
        for size, sparse in ((1 * GB, False), (6 * GB, True)):
            path = make_file(size, sparse)
            peaks[size] = max(client.upload(sink.url, path).rss_mib for _ in range(3))
            dirty[size] = max(client.upload_private_dirty(sink.url, path) for _ in range(3))
        floor = min(client.list().rss_mib for _ in range(3))
        dirty_floor = min(peak_private_dirty(client.list_command(), env=client.env) for _ in range(3))
    for size, peak in peaks.items():
        table.add(f"peak memory of an upload, {size // GB} GB", f"{peak:.1f} MiB", f"own `uploads list` {floor:.1f} MiB",
                  f"+ {peak - floor:.1f} MiB", "≤ + 10 MiB", peak - floor <= 10)
        table.add("the same, private dirty pages only", f"{dirty[size]:.1f} MiB", f"own `uploads list` {dirty_floor:.1f} MiB",
                  f"+ {dirty[size] - dirty_floor:.1f} MiB", "–", None)


def start_up(table, client, pairs):
    client.start_afresh()
    ours, theirs = interleaved(
        pairs * 4,
        lambda: measure([client.binary, "--version"], env=client.env),
        lambda: measure(["curl", "--version"]))
    ratio = best(ours, "wall") / best(theirs, "wall")
    table.add("start", "`mediactl --version` " + spread(ours), "`curl --version` " + spread(theirs), f"{ratio:.2f}×",
              "≤ 2×", ratio <= 2)


def long_list(table, client, pairs):
    """Copies the entry of one real upload 10,000 times, with different keys."""
    path = make_file(1 * GB, sparse=False)
    with Server("sink") as sink:
        client.upload(sink.url, path)
    database = sqlite3.connect(client.data + "/tokens.sqlite")
    columns = [row[1] for row in database.execute("PRAGMA table_info(tokens)") if row[1] != "row_id"]
    entry = dict(zip(columns, database.execute(f"SELECT {', '.join(columns)} FROM tokens").fetchone()))
    insert = f"INSERT INTO tokens ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    with database:
        for number in range(2, 10_001):
            entry.update(file_id=number, checksum_sha256=f"{number:064x}", token=f"{number:064x}")
            database.execute(insert, list(entry.values()))
    count = database.execute("SELECT count(*) FROM tokens").fetchone()[0]
    database.close()
    if count != 10_000:
        sys.exit(f"benchmark: expected 10,000 tokens, the store has {count}")
    (costs,) = interleaved(pairs * 2, client.list)
    table.add("`uploads list` of 10,000 tokens", spread(costs), "–", f"{best(costs, 'wall') * 1000:.0f} ms", "≤ 50 ms",
              best(costs, "wall") <= 0.050)


def cancel(table, client, pairs):
    path = make_file(6 * GB, sparse=True)
    for name, arguments, goal in (("stalled", ["--stall", str(50 * MIB)], 0.3), ("sending", [], 2.0)):
        times = []
        for _ in range(pairs):
            client.start_afresh()
            with Server("sink", *arguments) as sink:
                command = client.upload_command(sink.url, path)
                if not arguments:  # slow enough that it is still sending when the signal arrives
                    command.insert(2, "--limit-rate=100M")
                process = subprocess.Popen(
                    command, env=client.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
                if arguments:
                    sink.wait_for("stalled")
                time.sleep(1)  # until the socket buffers are full, or the transfer is at full speed
                sent = time.monotonic()
                process.send_signal(signal.SIGINT)
                status = process.wait(timeout=60)
                times.append(time.monotonic() - sent)
            if status != 130:
                sys.exit(f"benchmark: an interrupted upload exited with {status}, not 130")
            left = [file for file in os.listdir(client.data) if not re.match(r"tokens\.sqlite(-wal|-shm)?$", file)
                    and not os.path.isdir(os.path.join(client.data, file))]
            if left:
                sys.exit(f"benchmark: left behind after cancellation: {left}")
        table.add(f"cancel while {name}", f"{max(times) * 1000:.0f} ms (worst of {pairs})", "–",
                  f"{max(times):.3f} s", f"≤ {goal} s", max(times) <= goal)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def first_line(*command):
    return output(*command).split("\n")[0]


def machine():
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    memory = int(re.search(r"MemTotal:\s*(\d+)", open("/proc/meminfo").read()).group(1)) / MIB
    filesystem = first_line("stat", "--file-system", "--format=%T", WORK)
    return "\n".join([
        f"- {os.cpu_count()} cores, {cpu.group(1) if cpu else platform.machine()}, {memory:.0f} GiB of memory,"
        f" {filesystem}, files in the page cache",
        f"- {platform.freedesktop_os_release().get('PRETTY_NAME', 'Linux')}, kernel {platform.release()}",
        f"- {first_line('curl', '--version').split(' (')[0]}, {first_line('openssl', 'version').split(' (')[0]},"
        f" {first_line('swift', '--version')}",
    ])


def hand_written_notes():
    try:
        with open(REPORT) as report:
            _, mark, notes = report.read().partition(NOTES_MARK)
            return notes if mark else "\n"
    except FileNotFoundError:
        return "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="also time uploads of 6 GB")
    parser.add_argument("--pairs", type=int, default=5, help="rounds of each comparison (default: 5)")
    parser.add_argument("--mediactl", default=os.path.join(ROOT, "dist", "mediactl"))
    parser.add_argument("--baseline", metavar="FILE",
                        help="an earlier mediactl, run before the current one in each group; its results get a column")
    parser.add_argument("--only", nargs="+", default=[], metavar="GROUP", help="run only these groups, without a report")
    parser.add_argument("--sandbox", default=os.path.join(ROOT, ".build", "debug", "mediactl-sandbox"))
    options = parser.parse_args()
    if options.pairs < 5:
        sys.exit("benchmark: at least 5 pairs are required")

    table, client = Table(), Client(options.mediactl)
    sizes = [1 * GB, 2 * GB] + ([6 * GB] if options.full else [])
    ceilings = []
    groups = {
        "single": lambda: ceilings.extend(single_uploads(table, client, sizes, options.pairs)),
        "single-line": lambda: upload_on_a_line(table, client, options.pairs),
        "tus": lambda: tus_uploads(table, client, options.pairs),
        "many": lambda: many_files(table, client, options.pairs),
        "many-line": lambda: many_files_on_a_line(table, client, min(options.pairs, 3)),
        "many-memory": lambda: many_files_memory(table, client),
        "second-run": lambda: second_run(table, client, options.pairs, options.sandbox),
        "memory": lambda: peak_memory(table, client),
        "start": lambda: start_up(table, client, options.pairs),
        "list": lambda: long_list(table, client, options.pairs),
        "cancel": lambda: cancel(table, client, options.pairs),
        "photos-pull": lambda: photos.pulls(table, client, options.pairs),
        "photos-hash": lambda: photos.hashing(table, client, options.pairs),
        "photos-download": lambda: photos.download(table, client, options.pairs),
        "captures-hash": lambda: captures.hashing(table, client, options.pairs),
        "captures-keep": lambda: captures.keeping(table, client, options.pairs, options.sandbox),
        "captures-depth": lambda: captures.depth(table),
        "tapes-list": lambda: tapes.long_list(table, client, options.pairs),
        "tapes-add": lambda: tapes.adding(table, client, options.pairs),
    }
    unknown = set(options.only) - set(groups)
    if unknown:
        sys.exit(f"benchmark: no such group: {', '.join(sorted(unknown))}; valid groups: {', '.join(groups)}")
    baseline = options.baseline and first_line(options.baseline, "--version")
    for name, group in groups.items():
        if options.only and name not in options.only:
            continue
        if options.baseline:
            table.baseline, table.of_baseline = [], True
            client.use(options.baseline)
            group()
            client.use(options.mediactl)
            table.of_baseline = False
        group()
    if options.only:
        return print(table.markdown(baseline))

    void = [label for label, ceiling, used in ceilings if ceiling < used * 1.1]
    text = f"""# Benchmarks

Written by `make bench`; see [how it measures](../Benchmarks/README.md). Times are the minimum of {options.pairs} runs
(or a multiple for short ones), with the median in parentheses; ratios compare the minima. The programs in a row
ran alternately against the same sink. `at best`: the ratio if hashing overlapped the transfer perfectly; for many small
files, the ratio of a bare C program that stores the same data.

## Machine

{machine()}

## Results

{table.markdown(baseline)}

The sink's maximum rate with a minimal C sender: {
    "; ".join(f"{label}: {ceiling:.1f} GB/s (the fastest client of that size used {used:.1f} GB/s)"
              for label, ceiling, used in ceilings)}.

## Rows that miss their goal

{NOTES_MARK}"""
    if void:
        sys.exit(f"benchmark: void, the sink was the bottleneck at {', '.join(void)}; nothing was written")
    # Read before the file is opened for writing, which truncates it.
    text += hand_written_notes()
    with open(REPORT, "w") as report:
        report.write(text)
    print(f"written: {os.path.relpath(REPORT, ROOT)}")


if __name__ == "__main__":
    main()
