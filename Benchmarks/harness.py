"""Shared by the benchmarks: measured programs, servers, files, and the table of results."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "Benchmarks", "work")
GB = 1_000_000_000
MIB = 1 << 20


class Cost:
    def __init__(self, wall, cpu, rss_kib):
        self.wall, self.cpu, self.rss_mib = wall, cpu, rss_kib / 1024


def measure(command, env=None, expect=0):
    """Runs a command with Benchmarks/work/measure; exits if its status is unexpected."""
    read_end, write_end = os.pipe()
    # `measure` writes to descriptor 3; the pipe may have a different number here.
    shell = f'exec 3>&{write_end} {write_end}>&-; exec "$@"' if write_end != 3 else 'exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", os.path.join(WORK, "measure"), *command],
        pass_fds=[write_end], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.close(write_end)
    output, _ = process.communicate()
    with os.fdopen(read_end) as report:
        fields = report.read().split()
    if len(fields) != 4 or int(fields[3]) != expect:
        sys.exit(f"benchmark: {' '.join(command)} exited with {fields[3:]}:\n{output.decode(errors='replace')[-2000:]}")
    return Cost(float(fields[0]), float(fields[1]), int(fields[2]))


def peak_private_dirty(command, env=None, expect=0):
    """Runs a command; returns the peak of its Private_Dirty in MiB: the pages that it has written and shares with no
    other process (proc_pid_smaps(5), smaps_rollup). Sampled every millisecond, so shorter peaks are missed. Sampling
    slows the command down: do not use the same run for another measurement."""
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = samples = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup") as file:
                found = re.search(r"^Private_Dirty: +(\d+) kB", file.read(), re.MULTILINE)
        except OSError:  # it has just exited
            found = None
        if found:
            peak, samples = max(peak, int(found.group(1))), samples + 1
        time.sleep(0.001)
    if process.returncode != expect or not samples:
        sys.exit(f"benchmark: {' '.join(command)} exited with {process.returncode} after {samples} samples")
    return peak / 1024


def interleaved(pairs, *runs):
    """Runs the callables alternately, `pairs` times after one warm-up round; returns a list of costs for each."""
    for run in runs:
        run()
    costs = [[] for _ in runs]
    for _ in range(pairs):
        for collected, run in zip(costs, runs):
            collected.append(run())
    return costs


def best(costs, what):
    return min(getattr(cost, what) for cost in costs)


def middle(costs, what):
    return statistics.median(getattr(cost, what) for cost in costs)


class Server:
    """A server of Benchmarks/sink, for the duration of a `with` block."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [os.path.join(WORK, program), *arguments], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.port = self.url.rsplit(":", 1)[1]

    def wait_for(self, word):
        for line in self.process.stdout:
            if line.strip() == word:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def make_file(size, sparse):
    path = os.path.join(WORK, f"{size // GB}gb{'-sparse' if sparse else ''}.mp4")
    if not os.path.exists(path) or os.path.getsize(path) != size:
        print(f"making {path}")
        with open(path, "wb") as file:
            if sparse:
                file.truncate(size)
            else:
                for _ in range(size // 10_000_000):
                    file.write(os.urandom(10_000_000))
    with open(path, "rb", buffering=0) as file:  # load into the page cache, since the disk is not measured
        while file.read(16 * MIB):
            pass
    return path


def make_files(count, size):
    """A directory of files with different contents."""
    directory = os.path.join(WORK, f"{count}x{size}")
    if not os.path.isdir(directory) or len(os.listdir(directory)) != count:
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        print(f"creating {count} files of {size} bytes")
        for number in range(count):
            with open(os.path.join(directory, f"{number:05}.mp4"), "wb") as file:
                file.write(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + os.urandom(size - 24))
    return directory


class Table:
    """The rows of a run. A baseline (an earlier mediactl that runs each group first) gets a separate column."""

    def __init__(self):
        self.rows = []
        self.baseline = []  # of the current group
        self.of_baseline = False

    def add(self, work, ours, theirs, measured, goal, met):
        if self.of_baseline:
            self.baseline.append((work, f"{ours}; {measured}" if theirs != "–" else ours))
            return print("baseline |", " | ".join((work, ours, theirs, measured)), flush=True)
        verdict = {True: "met", False: "**missed**", None: "–"}[met]
        earlier = next((row for row in self.baseline if row[0] == work), None)
        if earlier:
            self.baseline.remove(earlier)
        self.rows.append((work, ours, theirs, measured, goal, verdict, earlier[1] if earlier else "–"))
        print(" | ".join(self.rows[-1]), flush=True)

    def markdown(self, baseline=None):
        columns = 7 if baseline else 6
        lines = [("work", "mediactl", "against", "measured", "goal", "", baseline), ("---",) * 7, *self.rows]
        return "\n".join("| " + " | ".join(line[:columns]) + " |" for line in lines)


def spread(costs, what="wall"):
    unit = "ms" if best(costs, what) < 0.1 else "s"
    factor, digits = (1000, 1) if unit == "ms" else (1, 3)
    return f"{best(costs, what) * factor:.{digits}f} {unit} ({middle(costs, what) * factor:.{digits}f})"
