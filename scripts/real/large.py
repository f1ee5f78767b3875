"""Scenarios of servers with tus in PHP (release d4): large files, five places, names, details, guests."""

import base64
import threading
import time

from client import PRESENT, Truth
from stage import scenario

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
    """Monitors the number of occupied places on the server (of five), for the duration of a `with`."""

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


def foreign(stage, count):
    """Creates uploads as another client that never resumes them; returns the number that the server accepted."""
    fields = {"filename": "other.mp4", "filetype": "video/mp4", "org_name": "Other", "event_date": "2026-06-15"}
    encoded = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in fields.items())
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "1000", "Upload-Metadata": encoded}
    return sum(stage.server.exchange("POST", "/files/", headers=headers, body=b"")[0] == 201 for _ in range(count))


def remove(stage, event):
    """Deletes the files of an event as an administrator, since they are large."""
    for row in Truth(stage.server).stored:
        if (row.date, row.org) == event:
            stage.server.delete_as_admin(row.number)
    stage.claim("deleted afterwards")


def upload_of(name, size, transport):
    @scenario(f"{name} {transport}", releases=D4)
    def run(stage):
        machine, event = stage.machine(), stage.event("size")
        file = stage.maker.large(machine, size)
        way = {"by default": "auto", "over tus": "tus", "with multipart": "multipart"}[transport]
        result = machine.upload([file], event, transport=way, limit=LIMIT_SECONDS)
        stage.stored_once(result, [file], event)
        used = "tus" if way == "tus" or size > DIRECT_LIMIT else "multipart"
        stage.expect("transport", [item.record["transport"] for item in result.items], [used])
        stage.expect("token", [item.has_token for item in result.items], [used == "multipart"])
        stage.expect("note about the token", "no delete token" in result.errors, used == "tus")
        again = machine.upload([file], event, transport=way)
        stage.expect("states of the second run", again.states(), "1 duplicate")
        remove(stage, event)


for size_name, byte_count in SIZES.items():
    for way_name in ("by default", "over tus", "with multipart"):
        if byte_count <= DIRECT_LIMIT or way_name != "with multipart":
            upload_of(size_name, byte_count, way_name)


# Five places


def places(name, count, size, transport, *options):
    @scenario(name, releases=D4, needs=("tus",))
    def run(stage):
        machine, event = stage.machine(transport=transport), stage.event("places")
        files = [stage.maker.large(machine, size) for _ in range(count)]
        with Places(stage.server) as watch:
            result = machine.upload(files, event, *options, limit=LIMIT_SECONDS)
        stage.stored_once(result, files, event)
        stage.claim(f"at most {watch.most} of 5 places taken")
        if watch.most > 4:
            stage.row.unmet.append(f"{watch.most} of five places taken")
        stage.expect("unfinished uploads", len(stage.server.tus.counted()), 0)
        remove(stage, event)


places("24 files over tus, 16 jobs", 24, 9 * MIB, "tus", "-j", "16")
places("6 files of 70 MB by default", 6, 70_000_000, "auto")
places("6 files of 70 MB over tus", 6, 70_000_000, "tus")


@scenario("2 processes of one machine with 8 files each over tus", releases=D4, needs=("tus",))
def places_of_processes(stage):
    machine, event = stage.machine(transport="tus"), stage.event("places")
    halves = [[stage.maker.large(machine, 9 * MIB) for _ in range(8)] for _ in range(2)]
    with Places(stage.server) as watch:
        started = [machine.start(*machine.upload_arguments(half, event, "-j", "8")) for half in halves]
        results = [machine.finish(process) for process in started]
    for result, half in zip(results, halves):
        stage.check(result, half, event)
        stage.expect_code(result, 0)
    stage.claim(f"at most {watch.most} of 5 places taken")
    if watch.most > 4:
        stage.row.unmet.append(f"{watch.most} of five places taken")


def all_taken(name, transport, codes, stored):
    @scenario(name, releases=D4, needs=("tus",))
    def run(stage):
        machine, event = stage.machine(transport=transport), stage.event("taken")
        file = stage.maker.large(machine, 9 * MIB)
        stage.expect("uploads of another client", foreign(stage, 6), 5)
        result = machine.upload([file], event)
        truth = stage.check(result, [file], event)
        stage.expect_code(result, *codes)
        stage.expect("files in the event", truth.count(event), stored)
        stage.expect("24 hours in the message", "24 hours" in result.errors + str(result.records), True)
        stage.expect("uploads of another client left", len(stage.server.tus.counted()), 5)


all_taken("all places taken by another client, over tus", "tus", (0, 3, 6), 1)


@scenario("all places taken by another client, then free", releases=D4, needs=("tus",))
def taken_then_free(stage):
    machine, event = stage.machine(transport="tus"), stage.event("taken")
    file = stage.maker.large(machine, 9 * MIB)
    foreign(stage, 5)
    stage.check(machine.upload([file], event), [file], event)
    stage.server.tus.expire(stage.server.tus.counted())
    stage.stored_once(machine.upload([file], event), [file], event)


@scenario("three places taken by another client, 8 files over tus", releases=D4, needs=("tus",))
def few_places(stage):
    machine, event = stage.machine(transport="tus"), stage.event("few")
    files = [stage.maker.large(machine, 9 * MIB) for _ in range(8)]
    foreign(stage, 3)
    stage.stored_once(machine.upload(files, event, "-j", "8"), files, event)


@scenario("an unfinished upload discarded", releases=D4, needs=("tus",))
def discarded(stage):
    machine, event = stage.machine(transport="tus"), stage.event("discard")
    file = stage.maker.large(machine, 20 * MIB)
    process = machine.start(*machine.upload_arguments([file], event, "--limit-rate", "4M"))
    wait_for_place(stage)
    time.sleep(3)
    stage.check(machine.kill(process), [file], event)
    status = machine.run("uploads", "status", "--dry-run")
    numbers = [record["upload_id"] for record in status.records if record.get("upload_id")]
    result = machine.run("uploads", "discard", *numbers, "--yes")
    stage.claim(f"discard: exit {result.code}")
    stage.expect_code(result, 0)
    stage.expect("places taken", len(stage.server.tus.counted()), 1)
    text = str(result.records) + result.errors
    stage.expect("until when", "until" in text, True)
    stage.stored_once(machine.upload([file], event), [file], event)


def wait_for_place(stage, count=1, seconds=20):
    """Waits until the server has unfinished uploads."""
    end = time.monotonic() + seconds
    while len(stage.server.tus.counted()) < count and time.monotonic() < end:
        time.sleep(0.05)


# Names, details and addresses

HEADS = {
    ".mkv": bytes.fromhex("1a45dfa3a342868101") + b"matroska", ".m4a": bytes.fromhex("00000018667479704d344120"),
    ".flac": b"fLaC\x00\x00\x00\x22", ".mov": bytes.fromhex("000000146674797071742020"), ".mp3": b"ID3\x04\x00\x00\x00",
    ".wav": b"RIFF\x00\x00\x00\x00WAVEfmt ", ".mp4": bytes.fromhex("000000186674797069736f6d"),
}


@scenario("the printed address of each type is served", releases=D4)
def served(stage):
    machine, event = stage.machine(transport="tus"), stage.event("types")
    files = [
        stage.maker.file(machine, content=head + stage.maker.random.randbytes(30_000), suffix=suffix)
        for suffix, head in HEADS.items()
    ]
    for _ in range(2):
        result = machine.upload(files, event)
        stage.stored_once(result, files, event)
        for item in result.items:
            address = item.record["media_url"]
            status = stage.server.request(address[len(stage.server.url):])[0] if address else "no address"
            if status != 200:
                stage.row.wrong.append(f"{item.state} {item.path[-5:]}: the printed address responds with {status}")


@scenario("details that tus drops", releases=D4)
def dropped(stage):
    machine, event = stage.machine(transport="tus"), stage.event("details")
    file = stage.maker.file(machine)
    options = ["--participants", "Ann", "--keywords", "k", "--location", "L", "--rating", "5", "--notes", "n"]
    result = machine.upload([file], event, *options)
    stage.stored_once(result, [file], event)
    for word in ("participants", "keywords", "location", "rating", "notes"):
        stage.expect(f"warning about {word}", word in result.errors, True)
    stage.expect("warnings", [item.record["warnings"] != [] for item in result.items], [True])


def refused(name, transport, *options, org=None, date=None, **file_options):
    @scenario(f"{name}, {transport}", releases=D4, needs=("tus",))
    def run(stage):
        machine, (usual_date, usual_org) = stage.machine(transport=transport), stage.event("refused")
        event = (date or usual_date, (org or "{}").format(usual_org))
        file = stage.maker.file(machine, **file_options)
        before = len(stage.server.tus.uploads())
        result = machine.upload([file], event, *options)
        stage.none_stored(result, [file], event, 2)
        stage.expect("uploads created", len(stage.server.tus.uploads()) - before, 0)
        stage.expect("bytes on the server", Truth(stage.server).has_bytes(file), False)
        if stage.server.files:
            names = [one for one in stage.server.files() if one.startswith(file.digest)]
            stage.expect("files on the disk", names, [])


refused("an organization of 129 characters", "tus", org="{:x<129}")
refused("a label of 256 characters", "tus", "--label", "x" * 256)
refused("an impossible date", "tus", date="2026-02-31")
refused("an unknown event type", "tus", "--event-type", "funeral")
refused("an unknown extension", "tus", suffix=".xyz")
refused("content of an unknown type that is allowed", "tus", "--any-extension", suffix=".xyz", content=b"\x01" * 3000)


# Known bytes, deletion, checks


@scenario("the same bytes over tus under another name and label", releases=D4)
def other_label(stage):
    machine, event = stage.machine(transport="tus"), stage.event("label")
    content = stage.maker.content(3000)
    for label in ("first", "second"):
        file = stage.maker.file(machine, content=content)
        # The server keeps the label of the first upload (gighive-d4 contract section 6).
        stage.stored_once(machine.upload([file], event, "--label", f"{label} {stage.maker.tag}"), [file], event)


@scenario("known bytes over tus: the same event, then another", releases=D4)
def known_bytes(stage):
    first, second, one, two = stage.machine(), stage.machine(transport="tus"), stage.event("one"), stage.event("two")
    file = stage.maker.file(first, 300_000)
    stage.all_stored(first.upload([file], one, transport="multipart"), [file], one)
    other = stage.maker.file(second, content=file.path.read_bytes())
    for options in ([], ["--again"]):
        result = second.upload([other], one, *options)
        stage.all_stored(result, [other], one)
    result = second.upload([other], two)
    truth = stage.all_stored(result, [other], two)
    stage.expect("numbers of the file", len(truth.numbers(file)), 1)


@scenario("known bytes under another extension, deleted", releases=D4, needs=("files",))
def twin(stage):
    first, second, event = stage.machine(), stage.machine(transport="tus"), stage.event("twin")
    content = HEADS[".mov"] + stage.maker.random.randbytes(30_000)
    file = stage.maker.file(first, content=content, suffix=".mov")
    truth = stage.all_stored(first.upload([file], event, transport="multipart"), [file], event)
    other = stage.maker.file(second, content=content, suffix=".mp4")
    stage.check(second.upload([other], stage.event("twin 2"), "--again"), [other], stage.events[-1])
    copies = [name for name in stage.server.files() if name.startswith(file.digest)]
    stage.claim(f"{len(copies)} copies")
    deletion = first.run("uploads", "delete", *truth.numbers(file), "--yes")
    stage.claim(f"delete: exit {deletion.code}")
    left = [name for name in stage.server.files() if name.startswith(file.digest)]
    if deletion.code == 0 and left and "still" not in deletion.errors + str(deletion.records):
        stage.row.unmet.append(f"deleted, and a copy with the extension {left[0].split('.')[1]} is still served")


@scenario("a tus upload: deleted by its uploader, then by an administrator", releases=D4)
def deletion_without_token(stage):
    machine, admin, event = stage.machine(transport="tus"), stage.machine("admin"), stage.event("delete")
    files = stage.maker.files(machine, 2)
    truth = stage.all_stored(machine.upload(files, event), files, event)
    numbers = sorted(number for file in files for number in truth.numbers(file))
    refusal = machine.run("uploads", "delete", *numbers, "--yes")
    stage.claim(f"by the uploader: exit {refusal.code}")
    stage.expect("files after a refused deletion", Truth(stage.server).count(event), 2)
    if refusal.code == 0:
        stage.row.wrong.append("exit 0, nothing was deleted")
    run = admin.run("media", "delete", *numbers, "--yes")
    stage.claim(f"by an administrator: exit {run.code}")
    left = Truth(stage.server).count(event)
    if run.code == 0 and left:
        stage.row.wrong.append(f"exit 0, {left} files are left")
    stage.expect_code(run, 0)
    verified = machine.run("uploads", "verify")
    stage.claim(f"verify: exit {verified.code}")
    if verified.code == 0:
        stage.row.wrong.append("verify: exit 0, the files were deleted")


@scenario("doctor and the five places", releases=D4)
def doctor(stage):
    result = stage.machine().run("doctor")
    stage.claim(f"doctor: exit {result.code}")
    stage.expect_code(result, 0)
    facts = {fact["name"]: fact["value"] for record in result.records for fact in record.get("facts") or []}
    stage.expect("dialect", facts.get("dialect"), "d4")


# Guests


def guest(stage, machine=None):
    """A machine with an event link, and the event."""
    owner, event = stage.machine(), stage.event("guests")
    first = stage.maker.file(owner)
    stage.all_stored(owner.upload([first], event), [first], event)
    link = stage.server.guest_link(event)
    machine = machine or stage.machine()
    if machine.url != stage.server.url:
        link = link.replace(stage.server.url, machine.url)
    (machine.path / "link").write_text(link)
    (machine.path / "link").chmod(0o600)
    machine.account = ("", "")
    return machine, event


GUEST_WORDS = ["--event-link-file", "link", "--accept-terms", "--settle-timeout", "10s"]


def guest_without_response(name, action, again):
    @scenario(name, releases=D4, needs=("guest_link", "tus"))
    def run(stage):
        machine, event = guest(stage, stage.behind_proxy())
        file = stage.maker.large(machine, 9 * MIB)
        stage.proxy.arm(r"^POST /api/uploads(\.php)?/finalize", action)
        before = len(stage.server.tus.uploads())
        result = machine.run("upload", file.name, *GUEST_WORDS)
        stage.check(result, [file], event)
        stage.expect("disturbed exchanges", stage.proxy.struck, 1)
        stage.expect_code(result, 0, 11)
        if again:
            second = machine.run("upload", file.name, *GUEST_WORDS)
            truth = stage.check(second, [file], event)
            stage.expect("rows of the file", len(truth.rows(file, event)), 1)
            stage.expect("uploads created", len(stage.server.tus.uploads()) - before, 1)


guest_without_response("a guest, interrupted: finalize without a response", "lose", False)
guest_without_response("a guest, interrupted: finalize with a cut response", "cut", False)
guest_without_response("a guest, interrupted: finalize without a response, then the same command", "lose", True)
guest_without_response("a guest, interrupted: finalize left, then the same command", "leave", True)


@scenario("a guest with 6 files of 9 MiB", releases=D4, needs=("guest_link", "tus"))
def guest_batch(stage):
    machine, event = guest(stage)
    files = [stage.maker.large(machine, 9 * MIB) for _ in range(6)]
    result = machine.run("upload", *[file.name for file in files], *GUEST_WORDS, "-j", "8")
    stage.check(result, files, event)
    stage.expect_code(result, 0)
    present = sum(item.state in PRESENT for item in result.items)
    stage.expect("files claimed", present, 6)
