"""Statuses at every stage: in place of the server's work, and in place of its response."""

import json

import hostile
from hostile import Rule, status_page
from trial import Facts, Trial

# All statuses are tested at the stages that determine the result for a file, and STATUSES at the others.
ALL = (*range(100, 600), 600, 999)
STATUSES = (
    100, 101, 103,
    200, 201, 202, 204, 206, 226, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
    411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 425, 426, 428, 429, 431, 451, 460, 499, 500, 501, 502, 503, 504,
    505, 507, 508, 511, 520, 522, 524, 525, 530, 599, 600, 999,
)
# A status that means that nothing was processed (gighive contract, trap T24).
NOTHING_DONE = {503}
# Statuses that the contract defines as refusals (2.5, 4.3, section 8). After any other 4xx, the outcome is unknown.
REFUSALS = {400, 401, 403, 404, 413, 415}


def is_denial(status, when):
    return when == "after" and status in REFUSALS | {501, 503}


def rule(stage, status, when, times=None):
    page = status_page(status)
    return Rule(stage, times=times, **{when: lambda _: page})


def at_upload(trial, stage, status, when):
    transport = "multipart" if stage == "upload" else "tus"
    file = trial.file(200_000)
    run = trial.upload(file, transport=transport)
    trial.check(run, file)
    return file


def at_query(trial, stage, status, when):
    """The response to the upload is lost, and the server is queried."""
    file = trial.file()
    run = trial.upload(file, "--retries", "0")
    trial.check(run, file)
    return file


def at_head(trial, stage, status, when):
    """A chunk is interrupted, and the offset is queried over tus."""
    return at_upload(trial, stage, status, when)


def at_deletion(trial, stage, status, when):
    file = trial.file()
    uploaded = trial.upload(file)
    numbers = [item.number for item in uploaded.items]
    if uploaded.code != 0:
        trial.unmet.append("the file was not uploaded")
        return None
    run = trial.command("uploads", "delete", str(numbers[0]), "--yes")
    is_there = Facts(trial.sandbox).has(file, trial.event)
    states = {record.get("state") for record in run.records if record.get("type") == "item"}
    if "deleted" in states and is_there:
        trial.wrong.append("deleted, and the file is on the server")
    if run.code == 0 and is_there:
        trial.wrong.append("exit 0, and the file is on the server")
    if is_there and not trial.numbers():
        trial.wrong.append("the token is missing, and the file is on the server")
    trial.removed.add(numbers[0])
    return file


def at_discard(trial, stage, status, when):
    """An interrupted upload is discarded."""
    file = trial.file(200_000)
    run = trial.upload(file, "--retries", "0", transport="tus")
    trial.check(run, file)
    numbers = [item.record.get("upload_id") for item in run.items]
    if numbers and numbers[0]:
        trial.command("uploads", "discard", numbers[0], "--yes", "--settle-timeout", "1s")
    return file


def at_doctor(trial, stage, status, when):
    trial.command("doctor", "--timeout", "5s")
    return None


def at_guest(trial, stage, status, when):
    token = "t" * 40 + f"{status:03d}"
    trial.sandbox.control("event-links", f"{token}={trial.event[0]},{trial.event[1]},band")
    link = trial.machine.path / "link"
    link.write_text(f"{trial.proxy.url}/upload/{token}\n")
    file = trial.file()
    words = ("upload", file.name, "--event-link-file", "link", "--accept-terms", "--retries", "1", "--settle-timeout", "1s")
    run = trial.command(*words)
    is_there = Facts(trial.sandbox).has(file, trial.event)
    if run.code == 0 and not is_there:
        trial.wrong.append("exit 0, and the file is not on the server")
    return None


# Stage, time, number of times, commands, and statuses.
PLANS = [
    ("upload", "before", 1, at_upload, ALL),
    ("upload", "after", 1, at_upload, ALL),
    ("tus-options", "before", None, at_upload, STATUSES),
    ("tus-create", "before", 1, at_upload, STATUSES),
    ("tus-create", "after", 1, at_upload, STATUSES),
    ("tus-patch", "before", 1, at_upload, STATUSES),
    ("tus-patch", "after", 1, at_upload, STATUSES),
    ("tus-head", "before", 2, at_head, STATUSES),
    ("finalize", "before", 1, at_upload, ALL),
    ("finalize", "after", 1, at_upload, ALL),
    ("listing", "before", None, at_query, ALL),
    ("media", "before", None, at_query, STATUSES),
    ("asset", "before", None, at_deletion, STATUSES),
    ("delete", "before", None, at_deletion, ALL),
    ("delete", "after", 1, at_deletion, ALL),
    ("tus-delete", "before", None, at_discard, STATUSES),
    ("health", "before", None, at_doctor, STATUSES),
    ("token", "before", None, at_guest, STATUSES),
]
FORBIDDEN = hostile.respond(
    403, json.dumps({"success": False, "error": "Forbidden", "message": "Invalid delete token"}).encode()
)


def more_rules(stage):
    """The additional rules that lead to the stage."""
    if stage in ("listing", "media"):
        return [Rule("upload", after=hostile.lose)]
    if stage == "tus-head":
        return [Rule("tus-patch", before=hostile.lose, times=1)]
    if stage == "asset":
        return [Rule("delete", before=lambda _: FORBIDDEN)]
    if stage == "tus-delete":
        return [Rule("finalize", before=lambda _: status_page(400))]
    return []


def rows():
    """Every row, as a function of the sandbox and a seed."""
    for stage, when, times, plan, statuses in PLANS:
        for status in statuses:
            yield f"{status} at {stage}, {when}", run_row, (stage, when, times, plan, status)


def run_row(sandbox, seed, name, stage, when, times, plan, status):
    rules = [rule(stage, status, when, times), *more_rules(stage)]
    trial = Trial(name, sandbox, seed, *rules)
    trial.is_denied = is_denial(status, when)
    if status in NOTHING_DONE:
        trial.retryable = {"upload", "finalize"}
    if stage == "tus-delete":
        # The rule for finalize refuses it before the server receives it.
        trial.retryable = {"finalize"}
    return trial.finish(plan(trial, stage, status, when))
