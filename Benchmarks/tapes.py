"""Tapes: a long list, and many clips added to one tape, compared with `cp --symbolic-link`."""

import os
import shutil
import sqlite3
import sys
import uuid

from harness import WORK, best, interleaved, measure, spread

TAPES, CLIPS = 1_000, 100


def command(client, *words):
    return [client.binary, "tapes", *words, "--quiet", "--no-input"]


def make_pictures(count):
    """Small files with different contents, whose first bytes identify them as photos."""
    directory = os.path.join(WORK, "pictures")
    os.makedirs(directory, exist_ok=True)
    paths = [os.path.join(directory, f"{number:04}.jpg") for number in range(count)]
    for number, path in enumerate(paths):
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(b"\xff\xd8\xff\xe0" + number.to_bytes(4, "big") * 2500)
    return paths


def environment(client):
    """The client's environment, with a pictures directory in which the default root of albums can be created."""
    home = os.path.join(WORK, "tapes-home")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(os.path.join(home, "Pictures"))
    return {**client.env, "HOME": home}


def copies(database, table, key, values):
    """Copies rows of a table with other keys; all other columns are kept."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    rows = [dict(zip(columns, row)) for row in database.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE {key}")]
    database.executemany(insert, ([{**row, **change}[name] for name in columns] for row in rows for change in values(row)))


def long_list(table, client, pairs):
    """Copies one real tape of 100 clips 1,000 times, with different keys."""
    client.start_afresh()
    env = environment(client)
    measure(command(client, "create", "one"), env=env)
    measure(command(client, "add", "one", *make_pictures(CLIPS)), env=env)
    database = sqlite3.connect(client.data + "/library.sqlite")
    first = database.execute("SELECT id FROM tapes").fetchone()[0]
    others = [str(uuid.uuid4()) for _ in range(TAPES - 1)]
    with database:
        copies(database, "tapes", "true", lambda row: [{"id": id, "title": f"tape {id}"} for id in others])
        copies(database, "clips", f"tape_id = '{first}'",
               lambda row: [{"id": str(uuid.uuid4()), "tape_id": id} for id in others])
        copies(database, "album_links", f"tape_id = '{first}'", lambda row: [{"tape_id": id, "album_id": id} for id in others])
    count = database.execute("SELECT count(*) FROM clips").fetchone()[0]
    database.close()
    if count != TAPES * CLIPS:
        sys.exit(f"benchmark: expected {TAPES * CLIPS} clips, the store has {count}")
    (costs,) = interleaved(pairs * 2, lambda: measure(command(client, "list"), env=env))
    table.add(f"`tapes list` of {TAPES} tapes with {CLIPS} clips each", spread(costs), "–",
              f"{best(costs, 'wall') * 1000:.0f} ms", "≤ 200 ms", best(costs, "wall") <= 0.200)


def adding(table, client, pairs):
    """1,000 clips added to a new tape and its folder of links, synced; with and without checksums of the originals."""
    paths, copy = make_pictures(1_000), os.path.join(WORK, "links")

    def ours(*words):
        client.start_afresh()
        env = environment(client)
        measure(command(client, "create", "many"), env=env)
        return measure(command(client, "add", "many", *words, *paths), env=env)

    def theirs():
        shutil.rmtree(copy, ignore_errors=True)
        os.makedirs(copy)
        return measure(["bash", "-c", 'cp --symbolic-link -t "$@" && sync "$1"', "bash", copy, *paths])

    plain, whole, floor = interleaved(pairs, lambda: ours("--no-checksum"), ours, theirs)
    table.add("`tapes add` of 1,000 clips, without checksums", spread(plain), f"`cp --symbolic-link` and `sync` {spread(floor)}",
              f"{best(plain, 'wall') / best(floor, 'wall'):.1f}×", "–", None)
    table.add("the same with SHA-1 and SHA-256 of each (10 KB)", spread(whole), "–", "–", "–", None)
