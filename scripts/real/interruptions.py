"""Scenarios for servers with tus in PHP (release d4): broken connections, killed processes, and corrupted uploads."""

import signal
import time

from client import Truth
from faultproxy import CUTS
from large import D4, GUEST_WORDS, MIB, foreign, guest, remove
from context import scenario

PATCH = r"^PATCH /files/"
POST = r"^POST /files/"
FINALIZE = r"^POST /api/uploads(\.php)?/finalize"
MULTIPART = r"^POST /api/(uploads|media-files)"
FAST = ["--stall-timeout", "4s"]


def wait_until_processed(context, event):
    """Waits until the server has finished processing for a closed connection."""
    last = None
    for _ in range(10):
        truth = Truth(context.server)
        if truth.count(event) == last:
            return
        last = truth.count(event)
        time.sleep(1)


# Broken connections


def cut(way, transport, pattern, position, kind, *options):
    @scenario(f"{way} interrupted at {position} MiB: {CUTS[kind]}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport=transport), context.event("cut")
        file = context.maker.large(machine, 42 * MIB)
        context.proxy.arm_cut(pattern, position * MIB, kind)
        result = machine.upload([file], event, *FAST, *options)
        context.expect("disturbed exchanges", context.proxy.injected, 1)
        wait_until_processed(context, event)
        context.stored_once(result, [file], event, 0, 11)
        remove(context, event)


for cut_kind in CUTS:
    for cut_position in (1, 7, 19, 21, 22, 25, 40):
        cut("42 MiB over tus", "tus", PATCH, cut_position, cut_kind)
        if cut_kind in ("fin", "rst") or cut_position in (7, 22):
            cut("42 MiB over tus in chunks of 16 MiB", "tus", PATCH, cut_position, cut_kind, "--chunk-size", "16M")
            cut("42 MiB with multipart", "multipart", MULTIPART, cut_position, cut_kind)


# Kills

# The points at which the process is killed: pattern of the request, moment, number of the exchange, bytes of its body.
MOMENTS = {
    "before the creation": (POST, "request", 1, 0),
    "after a creation without its response": (POST, "response", 1, 0),
    "in the middle of a chunk": (PATCH, "body", 2, 3 * MIB),
    "after a chunk without its response": (PATCH, "response", 1, 0),
    "after a chunk": (PATCH, "passed", 2, 0),
    "after the last byte without its response": (PATCH, "response", 3, 0),
    "before finalize": (FINALIZE, "request", 1, 0),
    "after finalize without its response": (FINALIZE, "response", 1, 0),
    "after finalize": (FINALIZE, "passed", 1, 0),
}
SHORT_TIMEOUT = ["--settle-timeout", "10s"]
RECOVERIES = {
    "the same command": None,
    "resumed": ["uploads", "resume", "--all", *SHORT_TIMEOUT],
    "resumed with another chunk size": ["uploads", "resume", "--all", "--chunk-size", "3M", *SHORT_TIMEOUT],
    "resumed with another label": ["uploads", "resume", "--all", "--label", "corrected", *SHORT_TIMEOUT],
}


def killed(moment, recovery):
    @scenario(f"20 MiB over tus, interrupted by SIGKILL {moment}, {recovery}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("killed")
        file = context.maker.large(machine, 20 * MIB)
        pattern, when, number, after = MOMENTS[moment]
        holder = {}
        context.proxy.watch(pattern, when, lambda: holder["process"].send_signal(signal.SIGKILL), number, after)
        process = holder["process"] = machine.start(*machine.upload_arguments([file], event))
        context.check(machine.finish(process), [file], event)
        context.expect("killed", process.returncode, -9)
        words = RECOVERIES[recovery]
        if words:
            result = machine.run(*words)
            if result.items:
                context.check(result, [file], event)
            report(context, result, file, event)
        result = machine.upload([file], event)
        truth = context.all_stored(result, [file], event, 0, 11)
        context.expect("rows of the file", len(truth.rows(file, event)), 1)
        remove(context, event)


def report(context, result, file, event):
    """A resumed upload must have the label that mediactl reports."""
    stored = {row.label for row in Truth(context.server).rows(file, event)}
    for item in result.items:
        if item.state == "done" and item.record.get("label") not in stored:
            context.row.wrong.append(f"label {item.record.get('label')!r} reported, {sorted(stored)} stored")


for kill_moment in MOMENTS:
    for kill_recovery in RECOVERIES:
        killed(kill_moment, kill_recovery)


def interrupted_once(context, name):
    """A machine whose upload of a file over tus was killed after its first chunk."""
    machine, event, holder = context.behind_proxy(transport="tus"), context.event(name), {}
    file = context.maker.large(machine, 20 * MIB)
    context.proxy.watch(PATCH, "passed", lambda: holder["process"].send_signal(signal.SIGKILL), 1)
    process = holder["process"] = machine.start(*machine.upload_arguments([file], event))
    machine.finish(process)
    return machine, file, event


@scenario("20 MiB over tus, interrupted, then the same command with another label", releases=D4, needs=("tus",))
def other_label(context):
    machine, file, event = interrupted_once(context, "label")
    context.stored_once(machine.upload([file], event, "--label", f"other {context.maker.tag}"), [file], event)


@scenario("20 MiB over tus, interrupted, then the same command with another event", releases=D4, needs=("tus",))
def other_event(context):
    machine, file, _ = interrupted_once(context, "event")
    other = context.event("other")
    context.stored_once(machine.upload([file], other), [file], other)


@scenario("20 MiB over tus, interrupted, then resumed with another organization", releases=D4, needs=("tus",))
def other_organization(context):
    machine, file, event = interrupted_once(context, "organization")
    other = context.event("other")
    result = machine.run("uploads", "resume", "--all", "--org-name", other[1], *SHORT_TIMEOUT)
    truth = context.check(result, [file], other)
    places = [one for one in (event, other) if truth.has(file, one)]
    context.expect("events with the file", len(places), 1)
    verified = machine.run("uploads", "verify")
    context.claim(f"verify: exit {verified.code}")
    context.expect_code(verified, 0)


@scenario("20 MiB over tus, interrupted, then with multipart, then resumed", releases=D4, needs=("tus",))
def multipart_meanwhile(context):
    machine, file, event = interrupted_once(context, "meanwhile")
    context.stored_once(machine.upload([file], event, transport="multipart"), [file], event)
    result = machine.run("uploads", "resume", "--all", *SHORT_TIMEOUT)
    truth = context.check(result, [file], event)
    context.expect("rows of the file", len(truth.rows(file, event)), 1)
    if any(item.state == "linked" for item in result.items):
        context.row.wrong.append("linked, but the event had the file")


def killed_at_random(number):
    @scenario(f"70 MB over tus, interrupted by SIGKILL at random, {number}", releases=D4, needs=("tus",))
    def run(context):
        machine, event, chance = context.machine(transport="tus"), context.event("random"), context.maker.random
        file = context.maker.large(machine, 70_000_000)
        for _ in range(chance.randint(1, 3)):
            process = machine.start(*machine.upload_arguments([file], event, "--limit-rate", "30M"))
            time.sleep(chance.uniform(0.05, 4))
            context.check(machine.kill(process), [file], event)
        words = chance.choice(list(RECOVERIES.values()))
        result = machine.run(*words) if words else None
        # A process killed early has nothing to resume.
        if result and result.items:
            context.check(result, [file], event)
            report(context, result, file, event)
        result = machine.upload([file], event)
        truth = context.all_stored(result, [file], event, 0, 11)
        context.expect("rows of the file", len(truth.rows(file, event)), 1)
        remove(context, event)


for random_number in range(1, 13):
    killed_at_random(random_number)


# Stops


def stopped_at(name, pattern, moment, number, present, stop=signal.SIGINT):
    @scenario(f"20 MiB over tus, interrupted by {stop.name} {name}, then the same command", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("stop")
        file, holder = context.maker.large(machine, 20 * MIB), {}
        context.proxy.watch(pattern, moment, lambda: holder["process"].send_signal(stop), number, MIB)
        process = holder["process"] = machine.start(*machine.upload_arguments([file], event))
        truth = context.check(machine.finish(process), [file], event)
        context.expect("files in the event", truth.count(event), present)
        result = machine.upload([file], event)
        truth = context.all_stored(result, [file], event, 0)
        context.expect("rows of the file", len(truth.rows(file, event)), 1)


stopped_at("in a chunk", PATCH, "body", 2, 0)
stopped_at("in the last chunk", PATCH, "body", 3, 0)
stopped_at("after the last byte", PATCH, "response", 3, 1)
stopped_at("during finalize", FINALIZE, "response", 1, 1)
stopped_at("after the last byte", PATCH, "response", 3, 1, signal.SIGTERM)
stopped_at("after the last byte", PATCH, "response", 3, 1, signal.SIGHUP)


# Lost and broken responses of PATCH, at each chunk


def broken_chunk(action, number):
    @scenario(f"20 MiB over tus, interrupted chunk {number}: {action}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("chunk")
        file = context.maker.large(machine, 20 * MIB)
        context.proxy.watch(PATCH, "request", lambda: context.proxy.arm(PATCH, action), number)
        result = machine.upload([file], event, *FAST)
        wait_until_processed(context, event)
        context.stored_once(result, [file], event, 0)


for chunk_action in ("reset-body", "leave", "lose", "cut", "gateway", "stopped"):
    for chunk_number in (1, 2, 3):
        broken_chunk(chunk_action, chunk_number)


def without_creation(action, most):
    @scenario(f"20 MiB over tus, interrupted at every creation: {action}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("creation")
        file = context.maker.large(machine, 20 * MIB)
        before = len(context.server.tus.uploads())
        context.proxy.arm(POST, action, 20)
        context.none_stored(machine.upload([file], event, *FAST), [file], event, 6, 7)
        created = len(context.server.tus.uploads()) - before
        context.claim(f"{created} created")
        # Each upload occupies a slot for 24 hours.
        if created > most:
            context.row.unmet.append(f"{created} uploads created, at most {most} wanted")
        context.proxy.disarm()
        context.stored_once(machine.upload([file], event), [file], event)


without_creation("lose", 2)
without_creation("gateway", 2)
without_creation("stopped", 0)


# Uploads that another client has corrupted


def spoiled(name, size, sent, *options):
    """Another client sends chunks while mediactl is interrupted: offset, length and file position of each, in MiB."""

    @scenario(f"interrupted, then corrupted by another client: {name}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("spoiled")
        file, holder = context.maker.large(machine, size * MIB), {}
        context.proxy.watch(PATCH, "passed", lambda: holder["process"].send_signal(signal.SIGKILL), 1)
        before = {upload.number for upload in context.server.tus.uploads()}
        process = holder["process"] = machine.start(*machine.upload_arguments([file], event))
        machine.finish(process)
        numbers = {upload.number for upload in context.server.tus.uploads()} - before
        context.expect("uploads created", len(numbers), 1)
        content = file.path.read_bytes()
        for offset, length, place in sent:
            send(context, *numbers, offset * MIB, content[place * MIB: (place + length) * MIB])
        for words in options:
            context.check(machine.run(*words), [file], event)
        result = machine.upload([file], event)
        truth = context.check(result, [file], event)
        context.expect_code(result, 0)
        # The file completed by the other client is in the event as well.
        context.expect("rows of the file", len(truth.rows(file, event)), 1)
        remove(context, event)


RESUME = ("uploads", "resume", "--all", *SHORT_TIMEOUT)
# After 8 MiB sent by mediactl: the rows of gighive-d4 contract 4.2.
spoiled("8, 8, 4 of 20", 20, [(8, 8, 8)])
spoiled("8, 16 of 24", 24, [(8, 16, 8)])
spoiled("8, 8, 16 of 70", 70, [(8, 8, 8), (16, 16, 16)])
spoiled("8, 4 of 20", 20, [(8, 4, 8)])
spoiled("8, 4 of 20, resumed", 20, [(8, 4, 8)], RESUME)
spoiled("8, 4 of 16", 16, [(8, 4, 8)])
spoiled("8, 4 of 16, resumed", 16, [(8, 4, 8)], RESUME)
spoiled("8, 12, 4 of 40", 40, [(8, 12, 8), (16, 4, 16)])
spoiled("8, 12, 4 of 40, resumed", 40, [(8, 12, 8), (16, 4, 16)], RESUME)
spoiled("completed with other bytes", 20, [(8, 8, 0), (16, 4, 0)])
spoiled("more bytes than the file has", 20, [(8, 16, 0)])
spoiled("more bytes than the file has, resumed", 20, [(8, 16, 0)], RESUME)


def send(context, number, offset, content):
    """A PATCH by another client."""
    status, _, _ = context.server.exchange("PATCH", f"/files/{number}", headers={
        "Tus-Resumable": "1.0.0", "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream",
    }, body=content)
    context.claim(f"foreign PATCH at {offset // MIB} MiB: {status}")


def overtaken(name, size, chunk, length, spliced):
    """Another client sends bytes at the offset of a chunk just before mediactl does."""

    @scenario(f"interrupted by another client: {name}", releases=D4, needs=("tus",))
    def run(context):
        machine, event = context.behind_proxy(transport="tus"), context.event("overtaken")
        file = context.maker.large(machine, size * MIB)
        before = {upload.number for upload in context.server.tus.uploads()}
        garbage = context.maker.random.randbytes(length * MIB)

        def overtake():
            numbers = {upload.number for upload in context.server.tus.uploads()} - before
            send(context, numbers.pop(), (chunk - 1) * 8 * MIB, garbage)

        context.proxy.watch(PATCH, "request", overtake, chunk)
        result = machine.upload([file], event)
        truth = context.check(result, [file], event)
        context.expect("stored with the right bytes", truth.has(file, event), not spliced)
        if spliced:
            wrong = [row for row in truth.stored if row.org == event[1] and row.digest != file.digest]
            context.expect("copies with other bytes", len(wrong), 1)
            text = result.errors + str(result.records)
            for what in (str(wrong[0].number), wrong[0].digest):
                context.expect(f"{what[:12]} in the message", what in text, True)
        # The second upload stores the right bytes in addition to the wrong ones.
        again = machine.upload([file], event)
        truth = context.check(again, [file], event)
        context.expect_code(again, 0)
        context.expect("rows of the file", len(truth.rows(file, event)), 1)
        remove(context, event)


overtaken("a chunk of the same size with other bytes", 24, 2, 8, True)
overtaken("the last chunk with other bytes", 24, 3, 8, True)
overtaken("a smaller chunk", 24, 2, 4, False)
overtaken("a larger chunk", 40, 2, 16, False)
overtaken("a first chunk of another size", 40, 1, 4, False)
overtaken("more bytes than the file has", 24, 2, 24, False)


@scenario("interrupted, then expired and removed on the server", releases=D4, needs=("tus",))
def expired(context):
    machine, file, event = interrupted_once(context, "expired")
    context.server.tus.expire(context.server.tus.counted())
    context.stored_once(machine.upload([file], event), [file], event)


@scenario("a file modified while it is interrupted over tus", releases=D4, needs=("tus",))
def modified(context):
    machine, file, event = interrupted_once(context, "modified")
    with file.path.open("r+b") as source:
        source.write(b"changed")
    changed = type(file)(file.path)
    context.check(machine.run(*RESUME), [changed], event)
    context.all_stored(machine.upload([changed], event), [changed], event)


def killed_guest(moment):
    name = f"a guest, interrupted by SIGKILL {moment}, then the same command"

    @scenario(name, releases=D4, needs=("guest_link", "tus"))
    def run(context):
        machine, event = guest(context, context.behind_proxy())
        file, holder = context.maker.large(machine, 20 * MIB), {}
        pattern, when, number, after = MOMENTS[moment]
        context.proxy.watch(pattern, when, lambda: holder["process"].send_signal(signal.SIGKILL), number, after)
        process = holder["process"] = machine.start("upload", file.name, *GUEST_WORDS)
        context.check(machine.finish(process), [file], event)
        result = machine.run("upload", file.name, *GUEST_WORDS)
        truth = context.check(result, [file], event)
        context.expect("rows of the file", len(truth.rows(file, event)), 1)
        context.expect_code(result, 0, 11)


for guest_moment in MOMENTS:
    killed_guest(guest_moment)


@scenario("five uploads of another client while one is interrupted", releases=D4, needs=("tus",))
def taken_meanwhile(context):
    machine, file, event = interrupted_once(context, "meanwhile")
    foreign(context, 5)
    context.stored_once(machine.upload([file], event), [file], event)
