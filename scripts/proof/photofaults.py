"""Faults that the check of histories must detect: false claims, and unreported damage."""




class Fault:
    """One kind of fault; counts its occurrences. `noticed` is part of the problem that must be reported."""

    noticed = ""

    def __init__(self):
        self.count = 0

    def plant(self, history, machine, run, before):
        if run.code >= 0 and self.change(history, machine, run, before):
            self.count += 1
            history.steps.append(f"planted: {type(self).__name__}")


def items(run, *states):
    return [item for item in run.items if item.get("state") in states]


def report(run, item, state, **members):
    """Changes the state of the item and the count of the summary."""
    if run.last.get("type") == "summary":
        for name, step in ((item["state"], -1), (state, 1)):
            if isinstance(run.last.get(name), int):
                run.last[name] += step
    item.update(state=state, exit_code=0, error=None, **members)


def end_well(run):
    run.code = run.last["exit_code"] = 0


class DamagedDownloadIsVerified(Fault):
    """An earlier version reported every downloaded file as verified."""

    noticed = "rewritten, but with wrong bytes"

    def change(self, history, machine, run, before):
        found = items(run, "unverified")
        for item in found:
            target = machine.path / item["path"].removesuffix(".unverified")
            if target.exists():
                return False
            (machine.path / item["path"]).rename(target)
            report(run, item, "rewritten", path=str(target))
        return bool(found)


class DeletionIsUndone(Fault):
    """A photo that was deleted on the server is uploaded again."""

    noticed = "a deletion was undone"

    def change(self, history, machine, run, before):
        for item in items(run, "deleted"):
            if "--dry-run" in run.arguments:
                continue
            content = (machine.path / item["path"]).read_bytes()
            report(run, item, "uploaded", photo_id=history.server.upload("again.jpg", content))
            return True
        return False


class ChangedCopyIsPresent(Fault):
    noticed = "present, but with other bytes"

    def change(self, history, machine, run, before):
        found = items(run, "changed")
        for item in found:
            report(run, item, "present")
        return bool(found)


class UploadedIsNotThere(Fault):
    """The server loses a photo that was reported as uploaded."""

    noticed = "uploaded, but not on the server"

    def change(self, history, machine, run, before):
        for item in items(run, "uploaded"):
            history.server.delete(item["photo_id"])
            return True
        return False


class VerifyIsSilent(Fault):
    """`verify` reports nothing."""

    noticed = "a changed copy is not reported"

    def change(self, history, machine, run, before):
        if run.last.get("schema") != "mediactl.sync-verify/1" or not run.items:
            return False
        for item in run.items:
            run.last[item["kind"]] = 0
        run.items.clear()
        run.records[:] = [record for record in run.records if record.get("type") != "item"]
        run.last["items"] = 0
        end_well(run)
        return True


class VerifyAccusesIntactFile(Fault):
    noticed = "server_damaged, but it is genuine"

    def change(self, history, machine, run, before):
        intact = [row.id for row in before.own.values() if before.states[row.id] == "genuine"]
        if run.last.get("schema") != "mediactl.sync-verify/1" or run.last.get("type") != "summary" or not intact:
            return False
        item = {"schema": "mediactl.sync-verify/1", "type": "item", "kind": "server_damaged", "photo_id": intact[0],
                "path": None, "expected": None, "found": None}
        run.records.insert(-1, item)
        run.items.append(item)
        run.last["server_damaged"] += 1
        run.code = run.last["exit_code"] = 3
        return True


class LocalFileIsChanged(Fault):
    noticed = "a local file was changed or lost"

    def change(self, history, machine, run, before):
        for path in machine.finals(before.files):
            path.write_bytes(path.read_bytes() + b"\n")
            return True
        return False


class PartialFileHasFinalName(Fault):
    """Half of a photo is stored under the final name."""

    noticed = "an incomplete file has a final name"

    def change(self, history, machine, run, before):
        for row in before.own.values():
            content = history.server.content(row)
            if content and "download" in run.arguments:
                (machine.fetched / "half.jpg").write_bytes(content[:len(content) // 2])
                return True
        return False


class CountIsTooHigh(Fault):
    noticed = "count of uploaded"

    def change(self, history, machine, run, before):
        if items(run, "uploaded") and run.last.get("type") == "summary" and "uploaded" in run.last:
            run.last["uploaded"] += 1
            return True
        return False


class ExitCodeIsZero(Fault):
    noticed = "exit code and items disagree"

    def change(self, history, machine, run, before):
        if run.code in (3, 5, 8, 13) and run.last.get("type") == "summary" and run.items:
            end_well(run)
            return True
        return False


class RepairDeletesIntactPhoto(Fault):
    noticed = "repair deleted an intact photo"

    def change(self, history, machine, run, before):
        intact = [row.id for row in before.own.values() if before.states[row.id] == "genuine"]
        if run.last.get("schema") == "mediactl.sync-repair/1" and "--yes" in run.arguments and intact:
            history.server.delete(intact[0])
            return True
        return False


class IndexIsBehind(Fault):
    """A full listing misses a photo."""

    noticed = "photos in the index"

    def change(self, history, machine, run, before):
        if run.last.get("schema") != "mediactl.sync-pull/1" or not run.last.get("full") or not run.last.get("index"):
            return False
        run.last["index"]["total"] -= 1
        return True


PLANTED = {
    fault.__name__: fault for fault in (
        DamagedDownloadIsVerified, DeletionIsUndone, ChangedCopyIsPresent, UploadedIsNotThere, VerifyIsSilent,
        VerifyAccusesIntactFile, LocalFileIsChanged, PartialFileHasFinalName, CountIsTooHigh, ExitCodeIsZero,
        RepairDeletesIntactPhoto, IndexIsBehind,
    )
}
