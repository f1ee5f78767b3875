"""Compares the results reported by a command with both disks and the server's database."""

import collections

from photoserver import ALICE, digest
from harness import documented_exit_codes

EXIT_CODES = documented_exit_codes() | {0}
EXTENSIONS = {".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic", ".heif"}
# States of items for which a command exits with code 0.
GOOD = {
    "mediactl.sync-push/1": {
        "uploaded", "present", "duplicate", "planned", "deleted", "forgotten", "skipped", "excluded",
    },
    "mediactl.sync-download/1": {"verified", "rewritten", "present", "planned"},
    "mediactl.sync-repair/1": {"planned", "repaired", "skipped"},
    "mediactl.sync-forget/1": {"forgotten", "planned"},
    "mediactl.sync-verify/1": set(),
}
PUSH, DOWNLOAD, REPAIR, FORGET, VERIFY = GOOD
SERVER_KINDS = {"missing": "server_missing", "empty": "server_empty", "damaged": ("server_length", "server_damaged")}


class Moment:
    """The state of both disks and the database between two commands."""

    def __init__(self, server, machine, is_busy=False):
        self.rows = server.observe(is_busy)
        self.own = {row.id: row for row in self.rows.values() if row.email == ALICE}
        self.hashes = {row.hash for row in self.own.values()}
        self.states = {identifier: server.state(row) for identifier, row in self.rows.items()}
        self.files = machine.files()


class Judge:
    """The claims of one command. `problems` lists the false ones; `limits` counts cases excluded by the documents."""

    def __init__(self, server, machine, run, before, after, is_disturbed, index=None):
        self.server, self.machine, self.run, self.before, self.after = server, machine, run, before, after
        self.words = [str(word) for word in run.arguments]
        self.is_killed = run.code < 0
        # Whether other changes occurred during the command, so that its report may be incomplete.
        self.is_disturbed = is_disturbed or self.is_killed
        self.index = index
        self.problems, self.limits, self.claims = [], collections.Counter(), 0
        self.items = [record for record in run.records if record.get("type") == "item"]
        self.new = {identifier: row for identifier, row in after.rows.items() if identifier not in before.rows}
        self.vanished = before.rows.keys() - after.rows.keys()
        self.is_dry = "--dry-run" in self.words

    def claim(self, is_true, what, about=""):
        self.claims += 1
        if not is_true:
            self.problems.append(f"{what}: {about}")

    def judge(self):
        if self.run.is_hung:
            self.problems.append("hung")
            return self
        self.ending()
        self.local_files()
        self.server_rows()
        for item in self.items:
            {
                PUSH: self.push_item, DOWNLOAD: self.download_item, VERIFY: self.verify_item, REPAIR: self.repair_item,
                FORGET: self.forget_item,
            }.get(item["schema"], lambda _: None)(item)
        if self.is_killed:
            self.machine.doubt(self.after.files)
        elif self.run.last.get("type") == "summary":
            self.summary(self.run.last)
        return self

    # MARK: Exit

    def ending(self):
        run, last = self.run, self.run.last
        if self.is_killed:
            return
        self.claim(run.code in EXIT_CODES, "exit code is not documented", run)
        self.claim(last.get("type") in ("summary", "error"), "no last record", run)
        self.claim(last.get("exit_code") == run.code, "exit code differs from the record", last)
        bad = [item for item in self.items if item["schema"] in GOOD and item["state" if "state" in item else "kind"]
               not in GOOD[item["schema"]]]
        if last.get("type") == "summary":
            is_success = not bad and not last.get("error")
            self.claim((run.code == 0) == is_success, "exit code and items disagree", (run.code, bad, last))
            self.counters(last)
        else:
            self.claim(run.code != 0, "an error with exit code 0", last)

    def counters(self, last):
        """Verifies the counts of the summary, and of the parts of `sync DIR`."""
        parts = {last["schema"]: last}
        if last["schema"] == "mediactl.sync/1":
            parts = {PUSH: last["push"] or {}, DOWNLOAD: last["download"] or {}}
        for schema, counts in parts.items():
            if schema not in GOOD:
                continue
            found = collections.Counter(
                item.get("state") or item.get("kind") for item in self.items if item["schema"] == schema
            )
            for state, count in found.items():
                self.claim(counts.get(state) == count, f"count of {state}", (counts, found))
            for key, count in counts.items():
                if key in GOOD[schema] and not found[key]:
                    self.claim(not count, f"count of {key} without an item", counts)

    # MARK: Disks

    def local_files(self):
        """No local file may be changed or lost; new files are complete, or have a name that is not final."""
        before, after = self.before.files, self.after.files
        for path, file in before.items():
            if path in self.machine.temporary:
                continue
            self.claim(after.get(path) == file, "a local file was changed or lost", path)
        for path in after.keys() - before.keys():
            if self.machine.is_temporary(path):
                self.machine.temporary.add(path)
            elif after[path].digest in self.server.flipped:
                self.limits["accepted although a bit of compressed data is wrong"] += 1
            else:
                self.claim(self.is_photo(after[path].digest), "an incomplete file has a final name", path)
        self.machine.temporary &= after.keys()

    def is_photo(self, content):
        return any(content in photo.genuine for photo in self.server.photos.values())

    def server_rows(self):
        """Only push, `sync DIR` and repair may change the server, and only as documented."""
        is_push = self.words[:2] in (["sync", "push"], ["sync", "pictures"]) and not self.is_dry
        if self.words[:2] == ["sync", "repair"] and not self.is_dry:
            self.machine.repaired |= self.vanished
            for identifier in self.vanished:
                self.claim(self.before.states[identifier] != "genuine", "repair deleted an intact photo", identifier)
            for row in self.new.values():
                old = {self.server.photos[identifier].row.hash for identifier in self.machine.repaired}
                self.claim(row.hash in old, "repair uploaded something else", row)
            return
        self.claim(not self.vanished, "photos disappeared from the server", self.vanished)
        if not is_push:
            self.claim(not self.new, "photos were uploaded", self.new)
            return
        uploaded = {item["photo_id"] for item in self.items if item["schema"] == PUSH and item["state"] == "uploaded"}
        if not self.is_disturbed:
            self.claim(uploaded == self.new.keys(), "uploaded and new rows differ", (uploaded, self.new))
        for row in self.new.values():
            self.deletion_stays(row)
            self.uploaded_once(row)

    def deletion_stays(self, row):
        """A photo that this machine has seen on the server, and that was deleted there, must not be uploaded again."""
        same = [photo for photo in self.server.photos.values()
                if photo.is_gone and row.hash in photo.genuine and photo.row.id in self.machine.seen]
        if any(photo.row.id in self.machine.repaired for photo in same) or not same:
            return
        if "--restore" not in self.words:
            self.claim(False, "a deletion was undone", (row, [photo.row.id for photo in same]))
        elif all(photo.row.id in self.machine.accepted for photo in same):
            named = {self.machine.path / word for word in self.words}
            paths = {path for path, file in self.after.files.items() if file.digest == row.hash}
            self.claim(bool(named & paths), "an accepted deletion was undone", row)

    def uploaded_once(self, row):
        """The server's own copy of a photo must not be uploaded as a new photo."""
        for photo in self.server.photos.values():
            if photo.row.id != row.id and not photo.is_gone and row.hash in photo.genuine and row.hash != photo.row.hash:
                self.claim("--changed" in self.words, "a rewritten copy was uploaded as a new photo", (row, photo.row.id))

    # MARK: Push

    def push_item(self, item):
        state, path, content = item["state"], self.machine.path / item["path"], item["checksum_sha256"]
        file, identifier = self.after.files.get(path), item["photo_id"]
        if content:
            self.claim(file is not None and file.digest == content, "digest of another file", item)
        photo, row = self.server.photos.get(identifier), self.after.own.get(identifier)
        if state == "uploaded":
            is_new = identifier in self.new and row is not None and row.hash == content
            self.claim(is_new and self.after.states[identifier] == "genuine", "uploaded, but not on the server", item)
            copy = self.machine.copies.get(path)
            if copy and copy.is_certain and copy.digest != content:
                self.claim("--changed" in self.words, "a changed copy was uploaded as a new photo", item)
        elif state == "present" or (state == "duplicate" and not self.is_dry):
            self.present(item, row, photo, path, content)
        elif state in ("deleted", "forgotten"):
            self.claim(photo is not None and photo.is_gone and content not in self.after.hashes, f"{state}, but on the server", item)
            if state == "forgotten":
                self.claim(identifier in self.machine.accepted, "not accepted", item)
        elif state == "changed":
            # Another file with these bytes, about which nothing is recorded, may have been uploaded after it.
            self.claim(content not in self.before.hashes, "changed, but on the server unchanged", item)
        elif state == "foreign":
            others = {row.hash for row in self.after.rows.values() if row.email != ALICE}
            self.claim(content in others and content not in self.after.hashes, "foreign, but not another user's", item)
        elif state in ("planned", "duplicate"):
            hashes = {row.hash for row in self.after.rows.values()}
            self.claim(content not in hashes, "planned, but on the server", item)
        elif state in ("unconfirmed", "cancelled"):
            self.claim(self.is_disturbed, f"{state} without a reason", item)
        elif state in ("skipped", "excluded"):
            self.claim(path.suffix not in EXTENSIONS or not file or not file.size, "a photo was skipped", item)
        if state in ("uploaded", "present", "duplicate") and identifier and not self.is_dry:
            self.machine.record(path, identifier, content)
            self.machine.seen.add(identifier)

    def present(self, item, row, photo, path, content):
        self.claim(row is not None, "present, but not on the server", item)
        if row is None:
            return
        # This includes a verified copy of a deleted photo if the server has its original bytes as another photo.
        alike = (other for other in self.server.photos.values() if other.row.hash == photo.row.hash)
        if any(content in other.genuine for other in alike):
            if self.after.states[row.id] != "genuine":
                self.limits["present by the listing, while the server's file is damaged"] += 1
            return
        if content in self.server.flipped:
            # A download has recorded the file as the server's copy.
            self.limits["present, although a bit of compressed data is wrong"] += 1
            return
        # The file was recognized by its stamp and the length of the server's file, without a digest.
        stored, bytes_here = self.server.content(row), path.read_bytes()
        is_stamped = row.id.encode() in bytes_here and stored is not None and len(stored) == len(bytes_here)
        known = {copy.digest for copy in self.machine.copies.values() if copy.id == row.id and copy.is_certain}
        self.claim(is_stamped and not known & photo.genuine - {row.hash}, "present, but with other bytes", item)
        self.limits["recognized by its stamp and length, although a byte is wrong"] += 1

    # MARK: Download

    def download_item(self, item):
        state, identifier = item["state"], item["photo_id"]
        path = None if item["path"] is None else self.machine.path / item["path"]
        file, photo = self.after.files.get(path), self.server.photos.get(identifier)
        stored = self.after.states.get(identifier, "gone")
        if state in ("verified", "rewritten"):
            right = {photo.row.hash} if state == "verified" else photo.genuine - {photo.row.hash}
            is_right = file is not None and file.digest == item["checksum_sha256"] and file.digest in right
            if not is_right and file is not None and state == "rewritten" and file.digest in self.server.flipped:
                self.limits["rewritten, although a bit of compressed data is wrong"] += 1
            else:
                self.claim(is_right, f"{state}, but with wrong bytes", item)
            # A killed run may already have given the file its name.
            self.claim(path not in self.before.files or not item["bytes_received"], "downloaded over a file", item)
            self.machine.record(path, identifier, item["checksum_sha256"])
        elif state == "unverified":
            self.claim(file is not None and path.name.endswith(".unverified"), "unverified under a final name", item)
            is_uncertain = self.is_disturbed or stored == "damaged" or not self.server.is_verifiable(identifier)
            self.claim(is_uncertain, "unverified although intact", item)
        elif state == "undeliverable":
            self.claim(stored in ("missing", "empty"), "undeliverable, but on the server", item)
        elif state == "present" and not item["error"]:
            is_copy = file is not None and photo is not None and file.digest in photo.genuine
            if not is_copy and file is not None and self.is_rotten(path, file):
                self.limits["present by size and time, although a byte is wrong"] += 1
            elif not is_copy and file is not None and file.digest in self.server.flipped:
                self.limits["present, although a bit of compressed data is wrong"] += 1
            else:
                self.claim(is_copy, "present, but not a copy", item)
        elif state == "failed":
            is_unknown = item["error"]["code"] == "unknown_photo" and identifier not in self.machine.seen
            self.claim(self.is_disturbed or stored != "genuine" or is_unknown, "failed although intact", item)
        elif state == "cancelled":
            self.claim(self.is_disturbed or self.run.code != 0, "cancelled without a reason", item)

    def is_rotten(self, path, file):
        return file.modified in self.machine.rotten.get(path, ())

    # MARK: Verify

    def verify_item(self, item):
        kind, identifier = item["kind"], item["photo_id"]
        path = None if item["path"] is None else self.machine.path / item["path"]
        file, stored = self.after.files.get(path), self.after.states.get(identifier, "gone")
        if kind == "copy_missing":
            self.claim(file is None, "copy missing, but found", item)
        elif kind == "copy_changed":
            self.claim(file is not None and file.digest != item["expected"], "copy changed, but unchanged", item)
        elif kind in ("copy_orphaned", "not_on_server"):
            self.claim(identifier not in self.after.own, f"{kind}, but on the server", item)
        elif kind == "not_indexed":
            self.claim(identifier in self.after.own, "not indexed, but not on the server", item)
        elif kind.startswith("server_"):
            # The server may also have delivered an intact file with errors.
            is_uncertain = kind == "server_damaged" and (self.is_disturbed or not self.server.is_verifiable(identifier))
            self.claim(kind in SERVER_KINDS.get(stored, ()) or is_uncertain, f"{kind}, but it is {stored}", item)

    def verify_summary(self, last):
        self.claim(last["photos"] == len(self.after.own), "photos compared", last)
        found = collections.defaultdict(set)
        for item in self.items:
            found[item["kind"]].add(item["photo_id"] if item["path"] is None else self.machine.path / item["path"])
        if self.index is not None:
            self.claim(found["not_indexed"] == self.after.own.keys() - self.index, "not indexed", found)
            self.claim(found["not_on_server"] == self.index - self.after.own.keys(), "not on the server", found)
        self.copies_verified(found)
        if "--server-files" not in self.words and "--server-content" not in self.words:
            return
        for identifier, row in self.after.own.items():
            self.file_verified(row, self.after.states[identifier], found)

    def copies_verified(self, found):
        for path, copy in self.machine.copies.items():
            if not copy.is_certain:
                continue
            file = self.after.files.get(path)
            if file is None:
                others = [other for other, one in self.machine.copies.items() if one.id == copy.id and other != path]
                is_elsewhere = any(other in self.after.files for other in others)
                # A download that should replace it failed.
                reported = found["copy_missing"] | found["copy_unfinished"] | found["copy_unverified"]
                if copy.id in self.after.own:
                    self.claim(path in reported or is_elsewhere, "a missing copy is not reported", path)
                else:
                    # Neither the server nor this machine has the photo: there is nothing to download or to upload.
                    self.claim(path not in reported, "a copy of a photo that was deleted everywhere is reported", path)
            elif copy.id in self.machine.accepted and copy.id not in self.after.own:
                # This applies even if the file has changed, as the help of sync forget states.
                is_reported = any(item["path"] is not None and item["photo_id"] == copy.id for item in self.items)
                self.claim(not is_reported, "a copy is reported whose deletion was accepted", path)
            elif file.digest != copy.digest:
                self.claim(path in found["copy_changed"], "a changed copy is not reported", path)
            if file and copy.id not in self.after.own and copy.id not in self.machine.accepted:
                self.claim(path in found["copy_orphaned"], "a deleted photo's copy is not reported", path)

    def file_verified(self, row, stored, found):
        if stored in ("missing", "empty"):
            self.claim(row.id in found[SERVER_KINDS[stored]], f"a file that is {stored} is not reported", row)
        elif stored == "damaged":
            content = self.server.content(row)
            is_reported = row.id in found["server_length"] | found["server_damaged"]
            if not self.server.is_verifiable(row.id):
                is_reported = is_reported or row.id in found["uploaded_damaged"]
            if "--server-content" in self.words and (is_reported or digest(content) not in self.server.flipped):
                self.claim(is_reported, "a damaged file is not reported", row)
            elif not is_reported and len(content) < row.size * 3 // 4:
                self.claim(False, "a truncated file is not reported", row)
            elif not is_reported:
                self.limits["a damaged file has a plausible length, or a wrong bit of compressed data"] += 1

    # MARK: Repair, forget

    def repair_item(self, item):
        state, identifier = item["state"], item["photo_id"]
        stored = self.before.states.get(identifier, "gone")
        # Nothing was changed; deletions of intact photos are checked above.
        is_unchanged = state == "skipped" or state == "no_original" and not self.server.is_verifiable(identifier)
        self.claim(self.is_disturbed or stored != "genuine" or is_unchanged, "repair of an intact file", item)
        if state == "repaired":
            row, old = self.after.own.get(item["new_photo_id"]), self.server.photos[identifier].row
            is_whole = row is not None and row.hash == old.hash and self.after.states[row.id] == "genuine"
            self.claim(is_whole, "repaired, but not on the server", item)
            for copy in self.machine.copies.values():
                if copy.id == identifier and copy.digest == old.hash:
                    copy.id = item["new_photo_id"]
        elif state == "no_original":
            content = self.server.photos[identifier].row.hash
            originals = [path for path, copy in self.machine.copies.items() if copy.is_certain and copy.digest == content
                         and path in self.after.files and self.after.files[path].digest == content]
            self.claim(not originals, "no original, but there is one", (item, originals))

    def forget_item(self, item):
        if item["state"] not in ("forgotten", "planned"):
            return
        photo = self.server.photos.get(item["photo_id"])
        self.claim(photo is not None and photo.is_gone, "an accepted deletion of a photo on the server", item)
        if photo is not None and item["state"] == "forgotten":
            # The same bytes may have been deleted more than once.
            self.machine.accepted |= {
                other.row.id for other in self.server.photos.values() if other.is_gone and other.row.hash == photo.row.hash
            }

    # MARK: Summaries

    def summary(self, last):
        if self.is_disturbed:
            self.see(last)
            return
        match last["schema"]:
            case "mediactl.sync-pull/1": self.pull_summary(last, self.after.own)
            case "mediactl.sync/1": self.pull_summary(last["pull"] or {}, self.before.own)
            case "mediactl.sync-status/1": self.status_summary(last)
            case "mediactl.sync-verify/1": self.verify_summary(last)
        self.see(last)
        schemas = {"mediactl.sync/1": (PUSH, DOWNLOAD)}.get(last["schema"], (last["schema"],))
        if PUSH in schemas and self.run.code in (0, 3, 5, 13):
            self.every_photo_pushed()
        if DOWNLOAD in schemas and ("--missing" in self.words or len(schemas) > 1) and not self.is_dry:
            self.every_photo_here()

    def see(self, last):
        """Records the photos that a complete listing has shown to this machine."""
        pull = last.get("pull") if last["schema"] == "mediactl.sync/1" else last
        is_pull = last["schema"] in ("mediactl.sync-pull/1", "mediactl.sync/1") and pull
        if self.is_dry or not (is_pull or last["schema"] == PUSH):
            return
        if is_pull and pull.get("complete") is False:
            return
        is_full = bool(is_pull and pull.get("full"))
        for identifier in self.before.own.keys() & self.after.own.keys():
            if is_full or not self.server.photos[identifier].is_late:
                self.machine.seen.add(identifier)

    def pull_summary(self, last, own):
        """`own`: the photos that the pull could list; for `sync DIR`, those before its push."""
        if self.is_dry:
            return
        counts, index = last.get("server_counts"), last.get("index")
        if counts:
            self.claim(counts["total"] == len(own), "photos on the server", last)
        if last.get("full"):
            self.claim(last["photos"] == len(self.before.own), "photos listed", (last, len(self.before.own)))
        if index:
            is_right = index["total"] == len(own) if last["full"] else index["total"] >= len(own)
            self.claim(is_right, "photos in the index", last)

    def status_summary(self, last):
        own = self.after.own.values()
        counts = last["server_counts"]
        self.claim(counts is not None and counts["total"] == len(own), "photos on the server", last)
        if counts:
            here = sum(row.device == last["device_id"] for row in own)
            legacy = sum(row.device is None for row in own)
            self.claim((counts["this_device"], counts["legacy"]) == (here, legacy), "photos of devices", (last, here, legacy))
            self.claim(last["needs_legacy_claim"] == (legacy > 0), "legacy photos", last)
        self.claim(last["ownership"] != "ownerless", "a defect that the server does not have", last)

    def every_photo_pushed(self):
        """Every photo below the arguments must have one item."""
        roots = [self.machine.path / word for word in self.words[1:] if not word.startswith("--")]
        wanted = {path for path, file in self.before.files.items() if file.size and path.suffix in EXTENSIONS
                  and any(root == path or root in path.parents for root in roots)}
        items = [self.machine.path / item["path"] for item in self.items if item["schema"] == PUSH]
        self.claim(wanted <= set(items), "photos without a result", wanted - set(items))
        self.claim(len(items) == len(set(items)), "photos with several results", items)

    def every_photo_here(self):
        """Every listed intact photo must be on this machine, unless its copy was changed here."""
        here = {file.digest for file in self.after.files.values()}
        kept = {copy.id for path, copy in self.machine.copies.items() if path in self.after.files or not copy.is_certain}
        kept |= {identifier for path in self.after.files for identifier in self.machine.possible.get(path, ())}
        for identifier in self.machine.seen & self.after.own.keys():
            is_intact = self.after.states[identifier] == "genuine" and self.server.is_verifiable(identifier)
            if is_intact and identifier not in kept:
                is_here = bool(self.server.photos[identifier].genuine & here)
                self.claim(is_here, "a photo is missing after a download", self.after.own[identifier])
