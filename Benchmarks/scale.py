#!/usr/bin/env python3
"""Time and peak memory of the photo commands over a large library: Benchmarks/scale.py [--photos N]

Environment: MEDIACTL_BINARY is the program (default: dist/mediactl). The server is sink/photos.c."""

import argparse
import os
import subprocess
import sys

from benchmark import Client
from harness import ROOT, WORK, Server, measure
from photos import make_photos, photo_command

GOAL_MIB = 80
LEGACY_GOAL_MIB = 64
LEGACY = 400_000


def build():
    os.makedirs(WORK, exist_ok=True)
    for name in ("photos", "measure"):
        source = os.path.join(ROOT, "Benchmarks/sink", name + ".c")
        subprocess.run(["cc", "-O2", "-pthread", "-o", os.path.join(WORK, name), source], check=True)


def row(name, cost, goal=GOAL_MIB):
    is_met = cost.rss_mib <= goal
    print(f"| {name} | {cost.wall:.1f} s | {cost.rss_mib:.1f} MiB | ≤ {goal} MiB{'' if is_met else ', **missed**'} |", flush=True)
    return is_met


def library(client, count, files):
    """The commands in the order of first use."""
    directory = make_photos(str(files), [500] * files)
    with Server("photos", "--photos", str(count)) as server:
        client.start_afresh()
        measure([client.binary, "login", "--server", server.url, "--quiet", "--no-input"], env=client.env)
        commands = (
            ("first `sync`", []), ("`sync pull --full`", ["pull", "--full"]), ("`sync verify`", ["verify"]),
            ("`sync list`", ["list"]), ("`sync list --json`", ["list", "--json"]), ("`sync status`", ["status"]),
            (f"`sync push --dry-run` of {files:,} files", ["push", directory, "--dry-run"]),
            ("`sync download --missing --dry-run`", ["download", "--missing", "--dry-run", "--output", WORK + "/none"]),
        )
        return [row(name, measure(photo_command(client, server.url, *words), env=client.env)) for name, words in commands]


def legacy(client, count):
    with Server("photos", "--photos", str(count), "--legacy", "10") as server:
        client.start_afresh()
        measure([client.binary, "login", "--server", server.url, "--quiet", "--no-input"], env=client.env)
        command = [client.binary, "claim-legacy", "--list", "--server", server.url, "--quiet", "--no-input"]
        return [
            row(f"`claim-legacy --list{option}` of {count:,} photos", measure([*command, *option.split()], env=client.env),
                LEGACY_GOAL_MIB)
            for option in ("", " --json")
        ]


def main():
    parser = argparse.ArgumentParser(description="Time and peak memory of the photo commands over a large library.")
    parser.add_argument("--photos", type=int, default=1_000_000, help="number of photos (default: 1,000,000)")
    parser.add_argument("--files", type=int, default=10_000, help="number of local files to push (default: 10,000)")
    arguments = parser.parse_args()
    build()
    client = Client(os.environ.get("MEDIACTL_BINARY") or os.path.join(ROOT, "dist", "mediactl"))
    print("| command | time | peak memory | goal |\n| --- | --- | --- | --- |")
    met = library(client, arguments.photos, arguments.files) + legacy(client, LEGACY)
    print(f"scale: {sum(met)} of {len(met)} commands meet their goal")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
