"""The scenarios: each runs mediactl, states the expected result, and verifies it on the server."""

import shutil
import time

from client import PRESENT, Truth
from faultproxy import ACTIONS
from context import scenario


# Uploads


@scenario("one file, deleted with its token")
def one_file(context):
    machine, event = context.machine(), context.event("one")
    file = context.maker.file(machine)
    run = machine.upload([file], event)
    truth = context.all_stored(run, [file], event)
    numbers = truth.numbers(file)
    context.expect("stored tokens", set(machine.uploads()), numbers)
    deletion = machine.run("uploads", "delete", *numbers, "--yes")
    context.claim(f"delete: exit {deletion.code}")
    after = Truth(context.server)
    if deletion.code == 0 and after.has_bytes(file):
        context.row.wrong.append("deleted but on the server")
    context.expect("files after the deletion", after.count(event), 0)
    context.expect("stored tokens after the deletion", machine.uploads(), [])


def batch(name, count, *options, transport="multipart", prepared=False):
    @scenario(name)
    def run(context):
        machine, event = context.machine(), context.event("batch")
        before = []
        if prepared:
            before = context.maker.files(machine, 1)
            context.all_stored(machine.upload(before, event, transport="multipart"), before, event)
        files = context.maker.files(machine, count)
        result = machine.upload(files, event, *options, transport=transport)
        truth = context.check(result, files, event)
        context.expect("files in the event", truth.count(event), count + len(before))
        context.expect_code(result, 0)
        with_token = {item.path for item in result.items if item.has_token}
        has_tokens = transport != "tus" or context.server.gives_tokens_over_tus
        context.expect("files with a token", len(with_token), count if has_tokens else 0)


batch("12 files into a new event", 12)
batch("12 files into a new event, 1 job", 12, "-j", "1")
batch("12 files into a new event, 16 jobs", 12, "-j", "16")
batch("100 files into a new event, 16 jobs", 100, "-j", "16")
batch("8 files into an existing event", 8, "-j", "8", prepared=True)
batch("6 files into a new event over tus", 6, transport="tus")
batch("6 files into an existing event over tus", 6, "-j", "6", transport="tus", prepared=True)
batch("6 files, transport chosen by mediactl", 6, transport="auto")


def processes(name, count, each):
    @scenario(name)
    def run(context):
        event = context.event("processes")
        started = []
        for _ in range(count):
            machine = context.machine()
            files = context.maker.files(machine, each)
            started.append((machine, files, machine.start(*machine.upload_arguments(files, event))))
        results = [(machine.finish(process), files) for machine, files, process in started]
        truth = Truth(context.server)
        for result, files in results:
            context.check(result, files, event, truth)
        context.expect("files in the event", truth.count(event), count * each)


processes("2 processes with 6 files each into a new event", 2, 6)
processes("8 processes with 1 file each into a new event", 8, 1)


# Repeated uploads of the same bytes


@scenario("the same file twice into one event")
def twice(context):
    machine, event = context.machine(), context.event("twice")
    file = context.maker.file(machine)
    truth = context.all_stored(machine.upload([file], event), [file], event)
    context.all_stored(machine.upload([file], event), [file], event)
    # The token of the first upload must still work.
    deletion = machine.run("uploads", "delete", *truth.numbers(file), "--yes")
    context.claim(f"delete: exit {deletion.code}")
    context.expect("files after the deletion", Truth(context.server).count(event), 0)


@scenario("the same file from another machine into one event")
def from_elsewhere(context):
    first, second, event = context.machine(), context.machine(), context.event("elsewhere")
    file = context.maker.file(first)
    context.all_stored(first.upload([file], event), [file], event)
    shutil.copy(file.path, second.path)
    run = second.upload([file], event)
    context.all_stored(run, [file], event)
    context.expect("token", [item.has_token for item in run.items], [False])


def second_event(name, same_machine):
    @scenario(name)
    def run(context):
        first, one, two = context.machine(), context.event("one"), context.event("two")
        file = context.maker.file(first)
        context.all_stored(first.upload([file], one), [file], one)
        machine = first if same_machine else context.machine()
        if machine is not first:
            shutil.copy(file.path, machine.path)
        result = machine.upload([file], two)
        truth = context.check(result, [file], two)
        # The other releases link the bytes to the event; D2 refuses them and leaves the event empty (gighive contract
        # section 3).
        context.expect("files in the second event", truth.count(two), 0 if context.server.release == "d2" else 1)
        context.expect("files in the first event", truth.count(one), 1)
        context.expect_code(result, 10 if context.server.release == "d2" else 0)


second_event("the same file into a second event", True)
second_event("the same file from another machine into a second event", False)


@scenario("two paths with the same bytes in one batch")
def twins(context):
    machine, event = context.machine(), context.event("twins")
    content = context.maker.content(3000)
    files = [context.maker.file(machine, content=content) for _ in range(2)]
    run = machine.upload(files, event, "-j", "2")
    truth = context.all_stored(run, files, event)
    context.expect("numbers of the file", len(truth.numbers(files[0])), 1)


@scenario("the same bytes from 4 processes at once")
def race_for_bytes(context):
    event, content = context.event("bytes"), context.maker.content(3000)
    started = []
    for _ in range(4):
        machine = context.machine()
        file = context.maker.file(machine, content=content)
        started.append((machine, file, machine.start(*machine.upload_arguments([file], event))))
    results = [(machine.finish(process), file) for machine, file, process in started]
    truth = Truth(context.server)
    for result, file in results:
        context.check(result, [file], event, truth)
    context.expect("numbers of the file", len(truth.numbers(results[0][1])), 1)
    tokens = sum(item.has_token for result, _ in results for item in result.items)
    if tokens > 1:
        context.row.wrong.append(f"{tokens} processes claim a token")


@scenario("one event under two spellings")
def spellings(context):
    machine, (date, org) = context.machine(), context.event("Spelling")
    files = context.maker.files(machine, 2)
    context.all_stored(machine.upload(files[:1], (date, org)), files[:1], (date, org))
    # The database treats both as one (gighive contract T27).
    other = (date, org.upper().replace(" ", "  "))
    run = machine.upload(files[1:], other)
    context.check(run, files[1:], other)
    context.expect_code(run, 0)


@scenario("one label in two events")
def one_label(context):
    machine, one, two = context.machine(), context.event("one"), context.event("two")
    files = context.maker.files(machine, 2)
    label = ["--label", f"shared {context.maker.tag}"]
    # The older releases list both files in both events; each must be listed in its own event.
    for file, event in zip(files, (one, two)):
        run = machine.upload([file], event, *label)
        context.check(run, [file], event)
        context.expect_code(run, 0)


# Text, files and accounts that the server refuses


@scenario("all fields, with accents")
def all_fields(context):
    machine, event = context.machine(), context.event("Größe – Café’s")
    file = context.maker.file(machine)
    options = ["--participants", "Ann, Bób", "--keywords", "k1,k2", "--location", "Zürich", "--rating", "5"]
    context.all_stored(machine.upload([file], event, *options, "--notes", "n"), [file], event)


@scenario("a label of 255 characters")
def longest_label(context):
    machine, event = context.machine(), context.event("longest")
    file = context.maker.file(machine)
    context.all_stored(machine.upload([file], event, "--label", "ü" * 200 + context.maker.tag.rjust(55)), [file], event)


def refused(name, *options, codes=(2,), **file_options):
    @scenario(name)
    def run(context):
        machine, event = context.machine(), context.event("refused")
        file = context.maker.file(machine, **file_options)
        result = machine.upload([file], event, *options)
        context.none_stored(result, [file], event, *codes)
        context.expect("bytes on the server", Truth(context.server).has_bytes(file), False)


refused("a label of 256 characters", "--label", "x" * 256)
refused("an unknown event type", "--event-type", "funeral")
refused("a rating out of range", "--rating", "11")
refused("an empty file", content=b"")
refused("an unknown extension", suffix=".xyz", codes=(2, 7))


@scenario("an impossible date")
def impossible_date(context):
    machine, (_, org) = context.machine(), context.event("date")
    file, event = context.maker.file(machine), ("2026-02-30", org)
    context.none_stored(machine.upload([file], event), [file], event, 2)


def long_text(name, option):
    @scenario(name)
    def run(context):
        machine, event = context.machine(), context.event("long")
        file = context.maker.file(machine)
        # The releases differ; the claim must match the result.
        context.check(machine.upload([file], event, option, "x" * 256), [file], event)


long_text("a location of 256 characters", "--location")
long_text("a participant of 256 characters", "--participants")


@scenario("a wrong password")
def wrong_password(context):
    machine, event = context.machine(), context.event("password")
    machine.account = (machine.account[0], "wrong")
    files = context.maker.files(machine, 3)
    context.none_stored(machine.upload(files, event), files, event, 4)


NEEDS_VIEWER = "a user who may not upload"


@scenario(NEEDS_VIEWER)
def viewer(context):
    machine, event = context.machine("viewer"), context.event("viewer")
    file = context.maker.file(machine)
    context.none_stored(machine.upload([file], event), [file], event, 4)


@scenario("a dry run")
def dry_run(context):
    machine, event = context.machine(), context.event("dry")
    files = context.maker.files(machine, 2)
    context.none_stored(machine.upload(files, event, "--dry-run"), files, event, 0)


@scenario("a file that grows during the upload")
def growing(context):
    machine, event = context.machine(), context.event("growing")
    file = context.maker.file(machine, 600_000)
    process = machine.start(*machine.upload_arguments([file], event, "--limit-rate", "300K"))
    time.sleep(1)
    with file.path.open("ab") as more:
        more.write(b"more")
    run, truth = machine.finish(process), Truth(context.server)
    context.claim(f"{run.states()}, exit {run.code}")
    # An error about the source makes no claim about the sent bytes; a success does.
    succeeded = run.code == 0 or any(item.state in PRESENT for item in run.items)
    if succeeded and not truth.has(file, event):
        context.row.wrong.append("success, but the bytes of the start are not in the event")


# Interruptions


def killed(name, transport, seconds, *recovery):
    @scenario(name)
    def run(context):
        machine, event = context.machine(transport=transport), context.event("killed")
        files = context.maker.files(machine, 6, 60_000)
        process = machine.start(*machine.upload_arguments(files, event, "--limit-rate", "200K"))
        time.sleep(seconds)
        context.check(machine.kill(process), files, event)
        if recovery:
            machine.run(*recovery)
        # If the killed process never read the response, the file is stored without its token: exit code 3 or 11.
        context.all_stored(machine.upload(files, event), files, event, 0, 3, 11)


killed("killed in the middle of a batch, then the same command", "multipart", 1.0)
killed("killed over tus, then the same command", "tus", 1.0)
killed("killed over tus, resumed, then the same command", "tus", 1.4, "uploads", "resume", "--all", "--settle-timeout", "10s")


# Deletion


@scenario("3 files deleted in one command")
def delete_three(context):
    machine, event = context.machine(), context.event("three")
    files = context.maker.files(machine, 3)
    truth = context.all_stored(machine.upload(files, event, "-j", "1"), files, event)
    numbers = [number for file in files for number in truth.numbers(file)]
    run = machine.run("uploads", "delete", *numbers, "--yes")
    context.claim(f"delete: exit {run.code}")
    left = Truth(context.server).count(event)
    if run.code == 0 and left:
        context.row.wrong.append(f"exit 0, {left} files are left")
    context.expect("files after the deletion", left, 0)


@scenario("a file that an administrator has deleted")
def gone(context):
    machine, event = context.machine(), context.event("gone")
    file = context.maker.file(machine)
    truth = context.all_stored(machine.upload([file], event), [file], event)
    numbers = truth.numbers(file)
    context.expect("deleted by the administrator", [context.server.delete_as_admin(one) for one in numbers], [True])
    run = machine.run("uploads", "delete", *numbers, "--yes")
    context.claim(f"delete: exit {run.code}")
    context.expect("stored tokens", machine.uploads(), [])
    context.expect("files after the deletion", Truth(context.server).count(event), 0)


@scenario("an upload by an administrator, deleted by the same user")
def admin(context):
    machine, event = context.machine("admin"), context.event("admin")
    file = context.maker.file(machine)
    truth = context.all_stored(machine.upload([file], event), [file], event)
    run = machine.run("uploads", "delete", *truth.numbers(file), "--yes")
    context.claim(f"delete: exit {run.code}")
    left = Truth(context.server).count(event)
    if run.code == 0 and left:
        context.row.wrong.append("exit 0, the file is left")
    context.expect("files after the deletion", left, 0)


# Connections broken at every step in every way

STEPS = {
    "the upload": (r"^POST /api/(uploads|media-files)", "multipart"),
    "the creation of a tus upload": (r"^POST /files/", "tus"),
    "a chunk": (r"^PATCH /files/", "tus"),
    "the finalize": (r"^POST /api/uploads(\.php)?/finalize", "tus"),
}


def broken(step, pattern, transport, action):
    @scenario(f"{step}: {ACTIONS[action]}")
    def run(context):
        machine, event = context.faulty(pattern, action), context.event("broken")
        file = context.maker.file(machine, 200_000)
        result = machine.upload([file], event, transport=transport)
        wait_until_processed(context, event)
        context.expect("disturbed exchanges", context.proxy.injected, 1)
        context.check(result, [file], event)


def broken_deletion(action):
    @scenario(f"the deletion: {ACTIONS[action]}")
    def run(context):
        machine, event = context.faulty(r"^POST /db/delete_media_files.php", action), context.event("broken")
        file = context.maker.file(machine)
        truth = context.all_stored(machine.upload([file], event), [file], event)
        result = machine.run("uploads", "delete", *truth.numbers(file), "--yes")
        wait_until_processed(context, event)
        context.claim(f"delete: exit {result.code}")
        left = Truth(context.server).count(event)
        kept = machine.uploads()
        # Exit code 6 means that the outcome is unknown.
        if result.code != 6 and (result.code == 0) != (left == 0):
            context.row.wrong.append(f"exit {result.code}, {left} files are left")
        if left and not kept:
            context.row.wrong.append("the file is left, its token is not")


def wait_until_processed(context, event):
    """Waits until the server has finished processing for a closed connection."""
    counts = []
    for _ in range(20):
        counts.append(Truth(context.server).count(event))
        if counts[-3:] == [counts[-1]] * 3:
            return
        time.sleep(0.5)


for step, (pattern, transport) in STEPS.items():
    for action in ACTIONS:
        broken(step, pattern, transport, action)
for action in ACTIONS:
    broken_deletion(action)


def needs_plain_http(name):
    """The proxy reads requests, so it does not support TLS."""
    return any(name.startswith(step + ":") for step in [*STEPS, "the deletion"]) or "interrupted" in name
