"""Scenarios for servers with tus in PHP (release d4): large files, five slots, names, details, guests."""

import base64
import threading
import time

from client import PRESENT, Truth
from context import scenario

MIB = 1 << 20
# Sizes around the limits of the server: 20 MiB for one PATCH, 64 MiB for the transport that mediactl selects.
SIZES = {
    "1 MB": 1_000_000, "20 MiB": 20 * MIB, "24 MiB": 24 * MIB, "66 MiB": 66 * MIB, "70 MB": 70_000_000,
    "300 MB": 300_000_000, "1.2 GB": 1_200_000_000,
}
DIRECT_LIMIT = 1 << 30
D4 = ("d4",)
# For the largest file on a slow server.
LIMIT_SECONDS = 600


class Places:
    """Monitors the number of occupied slots on the server (of five), for the duration of a `with` block."""

    def __init__(self, server):
        self.server, self.most, self.seen, self.ended = server, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.ended.is_set():
            self.most = max(self.most, len(self.server.tus.counted()))
            self.seen += 1
            time.sleep(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def foreign(context, count):
    """Creates uploads as another client that never resumes them; returns the number that the server accepted."""
    fields = {"filename": "other.mp4", "filetype": "video/mp4", "org_name": "Other", "event_date": "2026-06-15"}
    encoded = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in fields.items())
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "1000", "Upload-Metadata": encoded}
    return sum(context.server.exchange("POST", "/files/", headers=headers, body=b"")[0] == 201 for _ in range(count))


def remove(context, event):
    """Deletes the files of an event as an administrator, since they are large."""
    for row in Truth(context.server).stored:
        if (row.date, row.org) == event:
            context.server.delete_as_admin(row.number)
    context.claim("deleted afterwards")


def upload_of(name, size, transport):
    @scenario(f"{name} {transport}", releases=D4)
    def run(context):
        machine, event = context.machine(), context.event("size")
        file = context.maker.large(machine, size)
        way = {"by default": "auto", "over tus": "tus", "with multipart": "multipart"}[transport]
        result = machine.upload([file], event, transport=way, limit=LIMIT_SECONDS)
        context.stored_once(result, [file], event)
        used = "tus" if way == "tus" or size > DIRECT_LIMIT else "multipart"
        context.expect("transport", [item.record["transport"] for item in result.items], [used])
        context.expect("token", [item.has_token for item in result.items], [used == "multipart"])
        context.expect("note about the token", "no delete token" in result.errors, used == "tus")
        again = machine.upload([file], event, transport=way)
        context.expect("states of the second run", again.states(), "1 duplicate")
        remove(context, event)


for size_name, byte_count in SIZES.items():
    for way_name in ("by default", "over tus", "with multipart"):
        if byte_count <= DIRECT_LIMIT or way_name != "with multipart":
            upload_of(size_name, byte_count, way_name)


# Five slots


def places(name, count, size, transport, *options):
    @scenario(name, releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.machine(transport=transport), context.event("places")
        files = [context.maker.large(machine, size) for _ in range(count)]
        with Places(context.server) as watch:
            result = machine.upload(files, event, *options, limit=LIMIT_SECONDS)
        context.stored_once(result, files, event)
        context.claim(f"at most {watch.most} of 5 places taken")
        if watch.most > 4:
            context.row.unmet.append(f"{watch.most} of five places taken")
        context.expect("unfinished uploads", len(context.server.tus.counted()), 0)
        remove(context, event)


places("24 files over tus, 16 jobs", 24, 9 * MIB, "tus", "-j", "16")
places("6 files of 70 MB by default", 6, 70_000_000, "auto")
places("6 files of 70 MB over tus", 6, 70_000_000, "tus")


@scenario("2 processes of one machine with 8 files each over tus", releases=D4, needs=("tus",))
def places_of_processes(context):
    machine, event = context.machine(transport="tus"), context.event("places")
    halves = [[context.maker.large(machine, 9 * MIB) for _ in range(8)] for _ in range(2)]
    with Places(context.server) as watch:
        started = [machine.start(*machine.upload_arguments(half, event, "-j", "8")) for half in halves]
        results = [machine.finish(process) for process in started]
    for result, half in zip(results, halves):
        context.check(result, half, event)
        context.expect_code(result, 0)
    context.claim(f"at most {watch.most} of 5 places taken")
    if watch.most > 4:
        context.row.unmet.append(f"{watch.most} of five places taken")


def all_taken(name, transport, codes, stored):
    @scenario(name, releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.machine(transport=transport), context.event("taken")
        file = context.maker.large(machine, 9 * MIB)
        context.expect("uploads of another client", foreign(context, 6), 5)
        result = machine.upload([file], event)
        truth = context.check(result, [file], event)
        context.expect_code(result, *codes)
        context.expect("files in the event", truth.count(event), stored)
        context.expect("24 hours in the message", "24 hours" in result.errors + str(result.records), True)
        context.expect("uploads of another client left", len(context.server.tus.counted()), 5)


all_taken("all places taken by another client, over tus", "tus", (0, 3, 6), 1)


@scenario("all places taken by another client, then free", releases=D4, needs=("tus",))
def taken_then_free(context):
    machine, event = context.machine(transport="tus"), context.event("taken")
    file = context.maker.large(machine, 9 * MIB)
    foreign(context, 5)
    context.check(machine.upload([file], event), [file], event)
    context.server.tus.expire(context.server.tus.counted())
    context.stored_once(machine.upload([file], event), [file], event)


@scenario("three places taken by another client, 8 files over tus", releases=D4, needs=("tus",))
def few_places(context):
    machine, event = context.machine(transport="tus"), context.event("few")
    files = [context.maker.large(machine, 9 * MIB) for _ in range(8)]
    foreign(context, 3)
    context.stored_once(machine.upload(files, event, "-j", "8"), files, event)


@scenario("an unfinished upload discarded", releases=D4, needs=("tus",))
def discarded(context):
    machine, event = context.machine(transport="tus"), context.event("discard")
    file = context.maker.large(machine, 20 * MIB)
    process = machine.start(*machine.upload_arguments([file], event, "--limit-rate", "4M"))
    wait_for_place(context)
    time.sleep(3)
    context.check(machine.kill(process), [file], event)
    status = machine.run("uploads", "status", "--dry-run")
    numbers = [record["upload_id"] for record in status.records if record.get("upload_id")]
    result = machine.run("uploads", "discard", *numbers, "--yes")
    context.claim(f"discard: exit {result.code}")
    context.expect_code(result, 0)
    context.expect("places taken", len(context.server.tus.counted()), 1)
    text = str(result.records) + result.errors
    context.expect("until when", "until" in text, True)
    context.stored_once(machine.upload([file], event), [file], event)


def wait_for_place(context, count=1, seconds=20):
    """Waits until the server has unfinished uploads."""
    end = time.monotonic() + seconds
    while len(context.server.tus.counted()) < count and time.monotonic() < end:
        time.sleep(0.05)


# Names, details and addresses

HEADS = {
    ".mkv": bytes.fromhex("1a45dfa3a342868101") + b"matroska", ".m4a": bytes.fromhex("00000018667479704d344120"),
    ".flac": b"fLaC\x00\x00\x00\x22", ".mov": bytes.fromhex("000000146674797071742020"), ".mp3": b"ID3\x04\x00\x00\x00",
    ".wav": b"RIFF\x00\x00\x00\x00WAVEfmt ", ".mp4": bytes.fromhex("000000186674797069736f6d"),
}


@scenario("the printed address of each type is served", releases=D4)
def served(context):
    machine, event = context.machine(transport="tus"), context.event("types")
    files = [
        context.maker.file(machine, content=head + context.maker.random.randbytes(30_000), suffix=suffix)
        for suffix, head in HEADS.items()
    ]
    for _ in range(2):
        result = machine.upload(files, event)
        context.stored_once(result, files, event)
        for item in result.items:
            address = item.record["media_url"]
            status = context.server.request(address[len(context.server.url):])[0] if address else "no address"
            if status != 200:
                context.row.wrong.append(f"{item.state} {item.path[-5:]}: the printed address responds with {status}")


@scenario("details that tus drops", releases=D4)
def dropped(context):
    machine, event = context.machine(transport="tus"), context.event("details")
    file = context.maker.file(machine)
    options = ["--participants", "Ann", "--keywords", "k", "--location", "L", "--rating", "5", "--notes", "n"]
    result = machine.upload([file], event, *options)
    context.stored_once(result, [file], event)
    for word in ("participants", "keywords", "location", "rating", "notes"):
        context.expect(f"warning about {word}", word in result.errors, True)
    context.expect("warnings", [item.record["warnings"] != [] for item in result.items], [True])


def refused(name, transport, *options, org=None, date=None, **file_options):
    @scenario(f"{name}, {transport}", releases=D4, needs=("tus",))
    def run(context):
        machine, (usual_date, usual_org) = context.machine(transport=transport), context.event("refused")
        event = (date or usual_date, (org or "{}").format(usual_org))
        file = context.maker.file(machine, **file_options)
        before = len(context.server.tus.uploads())
        result = machine.upload([file], event, *options)
        context.none_stored(result, [file], event, 2)
        context.expect("uploads created", len(context.server.tus.uploads()) - before, 0)
        context.expect("bytes on the server", Truth(context.server).has_bytes(file), False)
        if context.server.files:
            names = [one for one in context.server.files() if one.startswith(file.digest)]
            context.expect("files on the disk", names, [])


refused("an organization of 129 characters", "tus", org="{:x<129}")
refused("a label of 256 characters", "tus", "--label", "x" * 256)
refused("an impossible date", "tus", date="2026-02-31")
refused("an unknown event type", "tus", "--event-type", "funeral")
refused("an unknown extension", "tus", suffix=".xyz")
refused("content of an unknown type that is allowed", "tus", "--any-extension", suffix=".xyz", content=b"\x01" * 3000)


# Known bytes, deletion, checks


@scenario("the same bytes over tus under another name and label", releases=D4)
def other_label(context):
    machine, event = context.machine(transport="tus"), context.event("label")
    content = context.maker.content(3000)
    for label in ("first", "second"):
        file = context.maker.file(machine, content=content)
        # The server keeps the label of the first upload (gighive-d4 contract section 6).
        context.stored_once(machine.upload([file], event, "--label", f"{label} {context.maker.tag}"), [file], event)


@scenario("known bytes over tus: the same event, then another", releases=D4)
def known_bytes(context):
    first, second, one, two = context.machine(), context.machine(transport="tus"), context.event("one"), context.event("two")
    file = context.maker.file(first, 300_000)
    context.all_stored(first.upload([file], one, transport="multipart"), [file], one)
    other = context.maker.file(second, content=file.path.read_bytes())
    for options in ([], ["--again"]):
        result = second.upload([other], one, *options)
        context.all_stored(result, [other], one)
    result = second.upload([other], two)
    truth = context.all_stored(result, [other], two)
    context.expect("numbers of the file", len(truth.numbers(file)), 1)


@scenario("known bytes under another extension, deleted", releases=D4, needs=("files",))
def twin(context):
    first, second, event = context.machine(), context.machine(transport="tus"), context.event("twin")
    content = HEADS[".mov"] + context.maker.random.randbytes(30_000)
    file = context.maker.file(first, content=content, suffix=".mov")
    truth = context.all_stored(first.upload([file], event, transport="multipart"), [file], event)
    other = context.maker.file(second, content=content, suffix=".mp4")
    context.check(second.upload([other], context.event("twin 2"), "--again"), [other], context.events[-1])
    copies = [name for name in context.server.files() if name.startswith(file.digest)]
    context.claim(f"{len(copies)} copies")
    deletion = first.run("uploads", "delete", *truth.numbers(file), "--yes")
    context.claim(f"delete: exit {deletion.code}")
    left = [name for name in context.server.files() if name.startswith(file.digest)]
    if deletion.code == 0 and left and "still" not in deletion.errors + str(deletion.records):
        context.row.unmet.append(f"deleted, and a copy with the extension {left[0].split('.')[1]} is still served")


@scenario("a tus upload: deleted by its uploader, then by an administrator", releases=D4)
def deletion_without_token(context):
    machine, admin, event = context.machine(transport="tus"), context.machine("admin"), context.event("delete")
    files = context.maker.files(machine, 2)
    truth = context.all_stored(machine.upload(files, event), files, event)
    numbers = sorted(number for file in files for number in truth.numbers(file))
    refusal = machine.run("uploads", "delete", *numbers, "--yes")
    context.claim(f"by the uploader: exit {refusal.code}")
    context.expect("files after a refused deletion", Truth(context.server).count(event), 2)
    if refusal.code == 0:
        context.row.wrong.append("exit 0, nothing was deleted")
    run = admin.run("media", "delete", *numbers, "--yes")
    context.claim(f"by an administrator: exit {run.code}")
    left = Truth(context.server).count(event)
    if run.code == 0 and left:
        context.row.wrong.append(f"exit 0, {left} files are left")
    context.expect_code(run, 0)
    verified = machine.run("uploads", "verify")
    context.claim(f"verify: exit {verified.code}")
    if verified.code == 0:
        context.row.wrong.append("verify: exit 0, the files were deleted")


@scenario("doctor and the five places", releases=D4)
def doctor(context):
    result = context.machine().run("doctor")
    context.claim(f"doctor: exit {result.code}")
    context.expect_code(result, 0)
    facts = {fact["name"]: fact["value"] for record in result.records for fact in record.get("facts") or []}
    context.expect("dialect", facts.get("dialect"), "d4")


# Guests


def guest(context, machine=None):
    """A machine with an event link, and the event."""
    owner, event = context.machine(), context.event("guests")
    first = context.maker.file(owner)
    context.all_stored(owner.upload([first], event), [first], event)
    link = context.server.guest_link(event)
    machine = machine or context.machine()
    if machine.url != context.server.url:
        link = link.replace(context.server.url, machine.url)
    (machine.path / "link").write_text(link)
    (machine.path / "link").chmod(0o600)
    machine.account = ("", "")
    return machine, event


GUEST_WORDS = ["--event-link-file", "link", "--accept-terms", "--settle-timeout", "10s"]


def guest_without_response(name, action, again):
    @scenario(name, releases=D4, needs=("guest_link", "tus"))
    def run(context):
        machine, event = guest(context, context.behind_proxy())
        file = context.maker.large(machine, 9 * MIB)
        context.proxy.arm(r"^POST /api/uploads(\.php)?/finalize", action)
        before = len(context.server.tus.uploads())
        result = machine.run("upload", file.name, *GUEST_WORDS)
        context.check(result, [file], event)
        context.expect("disturbed exchanges", context.proxy.injected, 1)
        context.expect_code(result, 0, 11)
        if again:
            second = machine.run("upload", file.name, *GUEST_WORDS)
            truth = context.check(second, [file], event)
            context.expect("rows of the file", len(truth.rows(file, event)), 1)
            context.expect("uploads created", len(context.server.tus.uploads()) - before, 1)


guest_without_response("a guest, interrupted: finalize without a response", "lose", False)
guest_without_response("a guest, interrupted: finalize with a truncated response", "cut", False)
guest_without_response("a guest, interrupted: finalize without a response, then the same command", "lose", True)
guest_without_response("a guest, interrupted: finalize left, then the same command", "leave", True)


@scenario("a guest with 6 files of 9 MiB", releases=D4, needs=("guest_link", "tus"))
def guest_batch(context):
    machine, event = guest(context)
    files = [context.maker.large(machine, 9 * MIB) for _ in range(6)]
    result = machine.run("upload", *[file.name for file in files], *GUEST_WORDS, "-j", "8")
    context.check(result, files, event)
    context.expect_code(result, 0)
    present = sum(item.state in PRESENT for item in result.items)
    context.expect("files claimed", present, 6)
