"""Scenarios for operators and guests, and for servers with a stopped component."""

import shutil

from client import Truth
from servers import RELEASES
from context import scenario

# Operator tasks


def deletion_by_filter(name, *filters):
    @scenario(name)
    def run(context):
        owner, admin, event = context.machine(), context.machine("admin"), context.event("operator")
        files = context.maker.files(owner, 3)
        truth = context.all_stored(owner.upload(files, event), files, event)
        label = files[0].path.stem
        words = {"date": event[0], "org": event[1], "label": label, "sha256": files[0].digest}
        chosen = [word.format(**words) for word in filters]
        wanted = {number for file in (files if "--label" not in filters and "--sha256" not in filters else files[:1])
                  for number in truth.numbers(file)}
        found = admin.run("media", "find", *chosen)
        context.claim(f"find: exit {found.code}")
        numbers = {record["file_id"] for record in found.records if record.get("type") == "item"}
        if numbers != wanted:
            context.row.wrong.append(f"found {sorted(numbers)}, stored are {sorted(wanted)}")
        deletion = admin.run("media", "delete", *chosen, "--yes")
        context.claim(f"delete: exit {deletion.code}")
        left = Truth(context.server)
        context.expect("files after the deletion", left.count(event), len(files) - len(wanted))
        claimed = {record["file_id"] for record in deletion.records if record.get("state") == "deleted"}
        if claimed != wanted - {row.number for row in left.stored}:
            context.row.wrong.append(f"claims to have deleted {sorted(claimed)}")


deletion_by_filter("files found and deleted by date and organization", "--event-date", "{date}", "--org-name", "{org}")
deletion_by_filter(
    "a file found and deleted by organization and label", "--org-name", "{org}", "--label", "{label}"
)
deletion_by_filter("a file found and deleted by its checksum", "--sha256", "{sha256}")


@scenario("deletion by number, one of three unknown")
def one_unknown(context):
    owner, admin, event = context.machine(), context.machine("admin"), context.event("unknown")
    files = context.maker.files(owner, 2)
    truth = context.all_stored(owner.upload(files, event), files, event)
    numbers = sorted(number for file in files for number in truth.numbers(file))
    unknown = max(row.number for row in truth.stored) + 1_000_000
    run = admin.run("media", "delete", *numbers, unknown, "--yes")
    context.claim(f"delete: exit {run.code}")
    context.expect("files after the deletion", Truth(context.server).count(event), 0)
    claimed = sorted(record["file_id"] for record in run.records if record.get("state") == "deleted")
    if claimed != numbers:
        context.row.wrong.append(f"claims to have deleted {claimed}, not {numbers}")


@scenario("a lost token: deleted by an administrator without an entry")
def without_entry(context):
    owner, admin, event = context.machine(), context.machine("admin"), context.event("lost")
    files = context.maker.files(owner, 2)
    truth = context.all_stored(owner.upload(files, event), files, event)
    number, other = (sorted(truth.numbers(file))[0] for file in files)
    refused = admin.run("uploads", "delete", number, "--as-admin", "--yes", "--sha256", files[1].digest)
    context.claim(f"with another checksum: exit {refused.code}")
    context.expect("files after a refused deletion", Truth(context.server).count(event), 2)
    shutil.copy(files[0].path, admin.path)
    run = admin.run("uploads", "delete", number, "--as-admin", "--yes", "--file", files[0].name)
    context.claim(f"with its file: exit {run.code}")
    left = Truth(context.server)
    if run.code == 0 and left.has_bytes(files[0]):
        context.row.wrong.append("exit 0, but the file is left")
    context.expect("files after the deletion", left.count(event), 1)
    context.expect("the other file", left.numbers(files[1]), {other})


@scenario("an upload checked later, after an administrator has deleted one file")
def verified_later(context):
    machine, event = context.machine(), context.event("verify")
    files = context.maker.files(machine, 3)
    truth = context.all_stored(machine.upload(files, event, "--verify"), files, event)
    first = machine.run("uploads", "verify")
    context.claim(f"verify: exit {first.code}")
    context.expect_code(first, 0)
    context.server.delete_as_admin(*truth.numbers(files[1]))
    second = machine.run("uploads", "verify")
    context.claim(f"verify again: exit {second.code}")
    present = sum(Truth(context.server).has(file, event) for file in files)
    context.expect("files after the deletion", present, 2)
    confirmed = [record["confirmed"] for record in second.records if record.get("type") == "summary"]
    if second.code == 0 or confirmed != [present]:
        context.row.wrong.append(f"exit {second.code}, {confirmed} confirmed, {present} in the event")


def smoke(role, codes):
    @scenario(f"smoke as {role}")
    def run(context):
        machine = context.machine(role)
        # The event used by smoke.
        event = "2000-01-01", "mediactl smoke test"
        before = Truth(context.server).count(event)
        result = machine.run("smoke")
        left = Truth(context.server).count(event) - before
        context.claim(f"smoke: exit {result.code}")
        if result.code == 0 and left:
            context.row.wrong.append(f"exit 0, {left} files are left")
        context.expect("files left", left, 0)
        context.expect_code(result, *codes)


smoke("user", (0,))
smoke("admin", (0,))


# Guests


def guests(name, transport):
    @scenario(name, needs=("guest_link",))
    def run(context):
        owner, guest, event = context.machine(), context.machine(), context.event("guests")
        first = context.maker.file(owner)
        context.all_stored(owner.upload([first], event), [first], event)
        link = context.server.guest_link(event)
        (guest.path / "link").write_text(link)
        (guest.path / "link").chmod(0o600)
        guest.account = ("", "")
        file = context.maker.file(guest)
        words = ["upload", file.name, "--event-link-file", "link", "--accept-terms", "--transport", transport]
        result = guest.run(*words, "--settle-timeout", "10s")
        context.check(result, [file], event)
        context.expect_code(result, 0)
        listed = guest.run("uploads", "list")
        states = [record.get("guest_status") for record in listed.records if record.get("type") == "item"]
        context.claim(f"list: {states}")
        secret = link.rsplit("/", 1)[1]
        if any(secret in text for text in (result.errors, listed.errors, *map(str, result.records + listed.records))):
            context.row.wrong.append("the link is in the output")


guests("a guest with an event link", "auto")


# Stopped components of the server


def stopped(name, part, transport, codes, *recovery):
    # If tus runs in PHP, there is no separate program to stop.
    @scenario(name, releases=[release for release in RELEASES if part != "tus" or release != "d4"])
    def run(context):
        machine, event = context.machine(transport=transport), context.event("stopped")
        before, files = context.maker.files(machine, 1), context.maker.files(machine, 4)
        context.all_stored(machine.upload(before, event), before, event)
        with context.server.stopped(part):
            result = machine.upload(files, event)
        context.check(result, files, event)
        context.expect_code(result, *codes)
        if recovery:
            context.claim(f"{recovery[1]}: exit {machine.run(*recovery).code}")
        context.all_stored(machine.upload(files, event), before + files, event, 0, 3, 11)


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
