"""Scenarios of operators and guests, and of servers with a stopped component."""

import shutil

from client import Truth
from servers import RELEASES
from stage import scenario

# Operator tasks


def deletion_by_filter(name, *filters):
    @scenario(name)
    def run(stage):
        owner, admin, event = stage.machine(), stage.machine("admin"), stage.event("operator")
        files = stage.maker.files(owner, 3)
        truth = stage.all_stored(owner.upload(files, event), files, event)
        label = files[0].path.stem
        words = {"date": event[0], "org": event[1], "label": label, "sha256": files[0].digest}
        chosen = [word.format(**words) for word in filters]
        wanted = {number for file in (files if "--label" not in filters and "--sha256" not in filters else files[:1])
                  for number in truth.numbers(file)}
        found = admin.run("media", "find", *chosen)
        stage.claim(f"find: exit {found.code}")
        numbers = {record["file_id"] for record in found.records if record.get("type") == "item"}
        if numbers != wanted:
            stage.row.wrong.append(f"found {sorted(numbers)}, stored are {sorted(wanted)}")
        deletion = admin.run("media", "delete", *chosen, "--yes")
        stage.claim(f"delete: exit {deletion.code}")
        left = Truth(stage.server)
        stage.expect("files after the deletion", left.count(event), len(files) - len(wanted))
        claimed = {record["file_id"] for record in deletion.records if record.get("state") == "deleted"}
        if claimed != wanted - {row.number for row in left.stored}:
            stage.row.wrong.append(f"claims to have deleted {sorted(claimed)}")


deletion_by_filter("files found and deleted by date and organization", "--event-date", "{date}", "--org-name", "{org}")
deletion_by_filter(
    "a file found and deleted by organization and label", "--org-name", "{org}", "--label", "{label}"
)
deletion_by_filter("a file found and deleted by its checksum", "--sha256", "{sha256}")


@scenario("deletion by number, one of three unknown")
def one_unknown(stage):
    owner, admin, event = stage.machine(), stage.machine("admin"), stage.event("unknown")
    files = stage.maker.files(owner, 2)
    truth = stage.all_stored(owner.upload(files, event), files, event)
    numbers = sorted(number for file in files for number in truth.numbers(file))
    unknown = max(row.number for row in truth.stored) + 1_000_000
    run = admin.run("media", "delete", *numbers, unknown, "--yes")
    stage.claim(f"delete: exit {run.code}")
    stage.expect("files after the deletion", Truth(stage.server).count(event), 0)
    claimed = sorted(record["file_id"] for record in run.records if record.get("state") == "deleted")
    if claimed != numbers:
        stage.row.wrong.append(f"claims to have deleted {claimed}, not {numbers}")


@scenario("a lost token: deleted by an administrator without an entry")
def without_entry(stage):
    owner, admin, event = stage.machine(), stage.machine("admin"), stage.event("lost")
    files = stage.maker.files(owner, 2)
    truth = stage.all_stored(owner.upload(files, event), files, event)
    number, other = (sorted(truth.numbers(file))[0] for file in files)
    refused = admin.run("uploads", "delete", number, "--as-admin", "--yes", "--sha256", files[1].digest)
    stage.claim(f"with another checksum: exit {refused.code}")
    stage.expect("files after a refused deletion", Truth(stage.server).count(event), 2)
    shutil.copy(files[0].path, admin.path)
    run = admin.run("uploads", "delete", number, "--as-admin", "--yes", "--file", files[0].name)
    stage.claim(f"with its file: exit {run.code}")
    left = Truth(stage.server)
    if run.code == 0 and left.has_bytes(files[0]):
        stage.row.wrong.append("exit 0, the file is left")
    stage.expect("files after the deletion", left.count(event), 1)
    stage.expect("the other file", left.numbers(files[1]), {other})


@scenario("an upload checked later, after an administrator has deleted one file")
def verified_later(stage):
    machine, event = stage.machine(), stage.event("verify")
    files = stage.maker.files(machine, 3)
    truth = stage.all_stored(machine.upload(files, event, "--verify"), files, event)
    first = machine.run("uploads", "verify")
    stage.claim(f"verify: exit {first.code}")
    stage.expect_code(first, 0)
    stage.server.delete_as_admin(*truth.numbers(files[1]))
    second = machine.run("uploads", "verify")
    stage.claim(f"verify again: exit {second.code}")
    present = sum(Truth(stage.server).has(file, event) for file in files)
    stage.expect("files after the deletion", present, 2)
    confirmed = [record["confirmed"] for record in second.records if record.get("type") == "summary"]
    if second.code == 0 or confirmed != [present]:
        stage.row.wrong.append(f"exit {second.code}, {confirmed} confirmed, {present} in the event")


def smoke(role, codes):
    @scenario(f"smoke as {role}")
    def run(stage):
        machine = stage.machine(role)
        # The event used by smoke.
        event = "2000-01-01", "mediactl smoke test"
        before = Truth(stage.server).count(event)
        result = machine.run("smoke")
        left = Truth(stage.server).count(event) - before
        stage.claim(f"smoke: exit {result.code}")
        if result.code == 0 and left:
            stage.row.wrong.append(f"exit 0, {left} files are left")
        stage.expect("files left", left, 0)
        stage.expect_code(result, *codes)


smoke("user", (0,))
smoke("admin", (0,))


# Guests


def guests(name, transport):
    @scenario(name, needs=("guest_link",))
    def run(stage):
        owner, guest, event = stage.machine(), stage.machine(), stage.event("guests")
        first = stage.maker.file(owner)
        stage.all_stored(owner.upload([first], event), [first], event)
        link = stage.server.guest_link(event)
        (guest.path / "link").write_text(link)
        (guest.path / "link").chmod(0o600)
        guest.account = ("", "")
        file = stage.maker.file(guest)
        words = ["upload", file.name, "--event-link-file", "link", "--accept-terms", "--transport", transport]
        result = guest.run(*words, "--settle-timeout", "10s")
        stage.check(result, [file], event)
        stage.expect_code(result, 0)
        listed = guest.run("uploads", "list")
        states = [record.get("guest_status") for record in listed.records if record.get("type") == "item"]
        stage.claim(f"list: {states}")
        secret = link.rsplit("/", 1)[1]
        if any(secret in text for text in (result.errors, listed.errors, *map(str, result.records + listed.records))):
            stage.row.wrong.append("the link is in the output")


guests("a guest with an event link", "auto")


# Stopped components of the server


def stopped(name, part, transport, codes, *recovery):
    # If tus runs in PHP, there is no separate program to stop.
    @scenario(name, releases=[release for release in RELEASES if part != "tus" or release != "d4"])
    def run(stage):
        machine, event = stage.machine(transport=transport), stage.event("stopped")
        before, files = stage.maker.files(machine, 1), stage.maker.files(machine, 4)
        stage.all_stored(machine.upload(before, event), before, event)
        with stage.server.stopped(part):
            result = machine.upload(files, event)
        stage.check(result, files, event)
        stage.expect_code(result, *codes)
        if recovery:
            stage.claim(f"{recovery[1]}: exit {machine.run(*recovery).code}")
        stage.all_stored(machine.upload(files, event), before + files, event, 0, 3, 11)


stopped("PHP stopped, then the same command", "php", "multipart", (6, 7))
stopped("PHP stopped during a tus upload, then the same command", "php", "tus", (6, 7))
stopped("the database stopped, then the same command", "db", "multipart", (6, 7))
stopped("tus stopped, small files with the transport chosen by mediactl", "tus", "auto", (0,))
stopped("tus stopped, then the same command", "tus", "tus", (6, 7))


def can_run(name, function, server):
    """Whether a server provides the requirements of a scenario."""
    if server.release not in function.releases or any(getattr(server, need) is None for need in function.needs):
        return False
    return server.can_stop or not stops_server(name)


def stops_server(name):
    """Whether other scenarios must not run at the same time."""
    return " stopped" in name
