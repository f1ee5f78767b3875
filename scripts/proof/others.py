"""Scenarios of captures, downloads and tapes, and the conditions that must hold after a power loss in them."""

import contextlib
import hashlib
import json
import pathlib
import random
import sqlite3

from harness import control, movie


class Scenario:
    """A run without delete tokens."""

    server_options = ()
    known_tokens, kept_before = {}, frozenset()

    def check(self, case):
        case.place()
        self.look(case)


def picture(path, number, size):
    """A JPEG file that is unique for this number."""
    head = bytes.fromhex("ffd8ffe000104a46494600010100000100010000")
    content = head + random.Random(number).randbytes(size) + b"\xff\xd9"
    path.write_bytes(content)
    return content


class Capture(Scenario):
    """Registration and submission of hashes. A capture on the server must be listed as submitted or in a later
    state."""

    name = "capture"
    SENT = {"accepted", "submitted", "unknown_outcome"}
    common = ("--no-depth",)

    def prepare(self, machine, seed):
        machine.extra = {"MEDIACTL_CAPTURE_URL": machine.url}
        self.pictures = [f"p{number}.jpg" for number in range(3)]
        self.hashes = {}
        for number, name in enumerate(self.pictures):
            content = picture(machine.path / name, seed * 1000 + number, 2500 + 3000 * number)
            self.hashes[hashlib.sha256(content).hexdigest()] = name
        first, *others = self.pictures
        sends = [["hash-only", "send", *files, *self.common] for files in ([first], others)]
        self.commands = [["hash-only", "register"], *sends]

    def roots(self, machine):
        return [machine.data]

    @staticmethod
    def on_server(data):
        with contextlib.closing(sqlite3.connect(pathlib.Path(data) / "captures.sqlite", timeout=30)) as database:
            return [row[0].removeprefix("sha256:").lower() for row in database.execute("SELECT hash FROM capture")]

    def look(self, case):
        listed = case.run("hash-only", "list")
        if listed.code != 0:
            return
        states = {item["media_hash"].removeprefix("sha256:").lower(): item["state"] for item in listed.items}
        present = self.on_server(case.recording.work / "stages" / str(case.duties.stage))
        for digest in present:
            if states.get(digest) not in self.SENT:
                case.fail("silent loss", f"{self.hashes[digest]} is on the server, but here it is {states.get(digest)}")
        for digest, state in states.items():
            if state == "accepted" and digest not in present:
                case.fail("false success", f"{self.hashes[digest]} is accepted here, but not on the server")
        for record in case.printed:
            if record.get("type") == "item" and record.get("state") == "accepted":
                if states.get(record["media_hash"].removeprefix("sha256:").lower()) != "accepted":
                    case.fail("silent loss", f"{record['path']} was printed as accepted and is {states}")
                elif case.chance < 0.2:
                    # The request is signed with a counter that the server must not have received in a different state.
                    with case.own_server() as server:
                        self._verify(case, record["path"], server)
        case.count("next command: " + (", ".join(sorted(states.values())) or "no capture"))
        if case.is_new(tuple(sorted(states.items()))) or case.chance > 0.98:
            self._go_on(case)

    def _verify(self, case, path, server=None):
        run = case.run("hash-only", "verify", path, server=server)
        if run.code != 0:
            case.fail("silent loss", f"a capture that was printed as accepted does not verify: {run}")

    def _go_on(self, case):
        with case.own_server() as server:
            case.run("hash-only", "register", server=server)
            retry = case.run("hash-only", "retry", "--all", server=server)
            case.run("hash-only", "send", *self.pictures, *self.common, server=server)
            listed = case.run("hash-only", "list", server=server)
            present = self.on_server(server.data)
            if sorted(present) != sorted(self.hashes):
                case.fail("silent loss", f"{len(present)} of {len(self.hashes)} on the server after {retry}")
            elif {item["state"] for item in listed.items} - {"accepted", "rejected"}:
                case.fail("silent loss", f"not accepted after a retry: {[item['state'] for item in listed.items]}, {retry}")
            for path in self.pictures:
                self._verify(case, path, server)
            case.count("retried and sent again: all accepted")


class Download(Scenario):
    """Downloads of photos. A final name must refer to a complete photo."""

    name = "download"
    COUNT = 6

    def prepare(self, machine, seed):
        self.photos = {}
        for number in range(self.COUNT):
            text = random.Random(seed * 1000 + number).randbytes(1500 + 2500 * number).hex()
            self.photos[hashlib.sha256(text.encode()).hexdigest()] = f"photo{number}.jpg"
            body = {"content": text, "originalFilename": f"photo{number}.jpg"}
            control(machine.url, "photosync/photos", "POST", json.dumps(body))
        key = machine.path / "key.txt"
        key.touch(mode=0o600)
        key.write_text("a11ce".ljust(64, "0") + "\n")
        machine.run("login", "--api-key-file", key, "--device-name", "proof")
        machine.run("sync")

    commands = [["sync", "download", "--missing", "--output", "out"]]

    def roots(self, machine):
        return [machine.data, machine.out]

    def whole(self, case):
        """Names in the directory that are final names of photos, with the photo of each file, or None."""
        found = {}
        for path in pathlib.Path(case.recording.machine.out).rglob("*.jpg"):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if not path.name.startswith("."):
                found[path.name] = self.photos.get(digest)
        return found

    def look(self, case):
        before = self.whole(case)
        for name, photo in before.items():
            if photo is None:
                case.fail("wrong content", f"{name} is incomplete before the next command")
        for record in case.printed:
            if record.get("type") == "item" and pathlib.Path(record["path"] or "").name not in before:
                case.fail("silent loss", f"{record['path']} was printed as {record['state']} and is missing")
        run = case.run(*self.commands[0])
        after = self.whole(case)
        if run.code != 0 or sorted(after.values(), key=str) != sorted(self.photos.values()):
            case.fail("silent loss", f"{after} after {run}")
        left = [path for path in pathlib.Path(case.recording.machine.out).rglob("*") if path.is_file()]
        if len(left) != len(after):
            case.count("states with other files in the directory after the next command")
        case.count(f"next command: {len(before)} of {self.COUNT} were there, all of them afterwards")


class Tapes(Scenario):
    """Clips are added to a tape with an album of links."""

    name = "tapes"

    def prepare(self, machine, seed):
        self.albums = machine.path / "albums"
        self.albums.mkdir(mode=0o700)
        machine.extra = {"MEDIACTL_ALBUMS_FOLDER_ROOT": str(self.albums)}
        self.clips = [f"c{number}.mp4" for number in range(3)]
        for number, name in enumerate(self.clips):
            movie(machine.path / name, seed * 1000 + number, 2000)
        first, second, third = self.clips
        self.commands = [
            ["tapes", "create", "Evening"], ["tapes", "add", "Evening", first, second], ["tapes", "add", "Evening", third],
        ]

    def roots(self, machine):
        return [machine.data, self.albums]

    def look(self, case):
        listed = case.run("tapes", "list")
        titles = [item["title"] for item in listed.items]
        created = any(record.get("schema", "").startswith("mediactl.tapes-create") for record in case.printed)
        if len(titles) > 1 or created and titles != ["Evening"]:
            case.fail("silent loss", f"the tape was created: {created}; listed: {titles}")
        if listed.code != 0 or not titles:
            return
        case.run("tapes", "reconcile", "--apply")
        shown = case.run("tapes", "show", "Evening")
        clips = [pathlib.Path(item["path"]).name for item in shown.items if item.get("path")]
        added = [pathlib.Path(record["path"]).name for record in case.printed if record.get("state") == "added"]
        if set(added) - set(clips) or len(set(clips)) != len(clips):
            case.fail("silent loss", f"printed as added: {added}; on the tape: {clips}")
        self._compare(case, clips)
        if case.is_new(tuple(clips)) or case.chance > 0.97:
            missing = [clip for clip in self.clips if clip not in clips]
            if missing:
                case.run("tapes", "add", "Evening", *missing)
                self._compare(case, self.clips)
        case.count(f"next command: {len(clips)} of {len(self.clips)} clips on the tape, as many in its album")

    def _compare(self, case, clips):
        """There must be one album, with each clip once."""
        folders = [path for path in self.albums_of(case).iterdir() if path.is_dir() and not path.name.startswith(".")]
        # A folder whose album was not finished is kept: an empty folder is never reused, since it may be foreign.
        albums = [path for path in folders if any(not child.name.endswith("-part") for child in path.iterdir())]
        if len(folders) > len(albums):
            case.count("an empty folder beside the album")
        links = [path for album in albums for path in album.iterdir() if path.is_symlink()]
        names = sorted(path.resolve().name for path in links)
        if clips and (len(albums) != 1 or names != sorted(clips)):
            case.fail("silent loss", f"the tape has {clips}, the albums {[album.name for album in albums]} have {names}")

    @staticmethod
    def albums_of(case):
        return pathlib.Path(case.recording.roots[1])


OTHER_SCENARIOS = [Capture, Download, Tapes]
