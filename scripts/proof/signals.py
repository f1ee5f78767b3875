"""Signals at every stage of an upload, alone and in pairs."""

import pathlib
import signal
import socket
import threading
import time

from hostile import Rule
from trial import SETTLE_OPTIONS, Trial

# Requests to stop: the program waits for the response and its token, and exits with 128 + number (docs/exit-codes.md).
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU)
# These signals do not stop the program: a closed pipe is a write error, SIGUSR1 prints the status, and SIGWINCH has
# no effect.
IGNORED = (signal.SIGPIPE, signal.SIGUSR1, signal.SIGWINCH)
# The program does not wait; the next command determines the outcome.
ABRUPT = (signal.SIGQUIT, signal.SIGKILL)

# Seconds until a second signal: late enough to count as a repeat of SIGINT, and of any signal (Interruption.repeatAfter).
SOON, LATER = 0.2, 1.3
PAIRS = (
    ((signal.SIGTERM, signal.SIGHUP), SOON),
    ((signal.SIGHUP, signal.SIGTERM), SOON),
    ((signal.SIGTERM, signal.SIGTERM), SOON),
    ((signal.SIGINT, signal.SIGTERM), SOON),
    ((signal.SIGUSR2, signal.SIGTERM), SOON),
    ((signal.SIGINT, signal.SIGINT), SOON),
    ((signal.SIGTERM, signal.SIGTERM), LATER),
    ((signal.SIGHUP, signal.SIGHUP), LATER),
    ((signal.SIGXCPU, signal.SIGXCPU), LATER),
    ((signal.SIGTERM, signal.SIGQUIT), SOON),
    ((signal.SIGINT, signal.SIGKILL), SOON),
)
# A second signal that the program has received later than this may count as a repeat of any signal.
LATEST_SOON = 0.7
# Maximum number of attempts at a row: on a loaded machine, its second signal may be received too late.
ATTEMPTS = 10
# finish_timeout: how long the program waits for a response after a stop, except after SIGINT.
FINISH_SECONDS = 30
# Time for the program to react before the server continues.
REACTION_SECONDS = 0.3

# Requests and the moments within them (hostile.Rule), by transport.
MULTIPART = [("upload", moment) for moment in ("head", "half", "body", "responded", "inside", "passed")]
TUS = [
    ("tus-create", "head"), ("tus-create", "responded"), ("tus-create", "inside"),
    ("tus-patch", "head"), ("tus-patch", "half"), ("tus-patch", "body"), ("tus-patch", "responded"), ("tus-patch", "inside"),
    ("finalize", "head"), ("finalize", "body"), ("finalize", "responded"), ("finalize", "inside"), ("finalize", "passed"),
]
BEFORE = [("start", "store opened"), ("start", "connecting")]
STAGES = [("multipart", *place) for place in BEFORE + MULTIPART] + [("tus", *place) for place in BEFORE + TUS]
PAIR_STAGES = [
    ("multipart", "start", "connecting"), ("multipart", "upload", "half"), ("multipart", "upload", "body"),
    ("multipart", "upload", "responded"), ("multipart", "upload", "inside"), ("tus", "tus-patch", "half"),
    ("tus", "tus-patch", "responded"), ("tus", "finalize", "body"), ("tus", "finalize", "responded"), ("tus", "finalize", "inside"),
]
# Moments after which the program waits for the response.
WAITING = [(stage, moment) for stage in ("upload", "finalize") for moment in ("body", "responded", "inside", "passed")]


def rows():
    """Every row, as a function of the sandbox and a seed."""
    for transport, stage, moment in STAGES:
        for number in (*STOPS, *IGNORED, *ABRUPT):
            yield f"{number.name} at {stage}, {moment}, {transport}", run_row, (transport, stage, moment, (number,), 0)
    for transport, stage, moment in PAIR_STAGES:
        for numbers, pause in PAIRS:
            names = " and ".join(number.name for number in numbers)
            name = f"{names} after {pause} s at {stage}, {moment}, {transport}"
            yield name, run_row, (transport, stage, moment, numbers, pause)


def gives_up(numbers, pause):
    """Whether the signals make the program stop without waiting for the response."""
    if numbers[-1] in ABRUPT:
        return True
    return len(numbers) == 2 and numbers[0] == numbers[1] and (numbers[0] == signal.SIGINT or pause == LATER)


def expected_codes(numbers, moment):
    first = numbers[0]
    if signal.SIGKILL in numbers:
        codes = {-signal.SIGKILL}
    elif signal.SIGQUIT in numbers:
        codes = {128 + signal.SIGQUIT}
    else:
        codes = {0} if first in IGNORED else {128 + first}
    if len(numbers) == 2 and first in STOPS:
        # The first signal may have terminated the program before the second one arrived.
        codes.add(128 + first)
    if moment == "passed":
        codes.add(0)
    if moment == "store opened" and first not in IGNORED:
        # The signals are not yet handled; a shell reports the same code.
        codes.add(-first)
    return codes


class Sender:
    """Sends the signals at a moment, and waits for a reaction."""

    def __init__(self, numbers, pause):
        self.numbers, self.pause, self.process = numbers, pause, None
        self.is_started, self.is_sent = threading.Event(), False
        # When each signal was sent, and when the program had received all of them (time.monotonic()).
        self.times, self.received_at = [], None

    def __call__(self):
        self.is_started.wait()
        for place, number in enumerate(self.numbers):
            if place:
                time.sleep(self.pause)
            self.times.append(time.monotonic())
            self.process.send_signal(number)
        self.is_sent = True
        end = time.monotonic() + REACTION_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            self.note_receipt()
            time.sleep(0.01)
        self.note_receipt()

    def note_receipt(self):
        if self.received_at is None and (self.process.poll() is not None or not is_pending(self.process.pid)):
            self.received_at = time.monotonic()

    @property
    def may_be_repeat(self):
        """Whether the program may have received the second of two equal signals so late that it counts as a repeat,
        although it was sent soon."""
        if self.pause != SOON or len(self.numbers) < 2 or self.numbers[0] != self.numbers[1]:
            return False
        return self.received_at is None or self.received_at - self.times[0] > LATEST_SOON

    def is_limit_over(self, moment):
        """Whether the program may have stopped waiting for a response that it received at this moment."""
        limiting = [sent_at for number, sent_at in zip(self.numbers, self.times) if number in STOPS and number != signal.SIGINT]
        return bool(limiting) and moment - limiting[0] >= FINISH_SECONDS


def is_pending(process):
    """Whether a signal was sent to a process that has not received it (proc(5), SigPnd and ShdPnd)."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith(("SigPnd:", "ShdPnd:")) and int(line.split()[1], 16) for line in lines)


class Unreachable:
    """A port whose connections stay in SYN_SENT until they are admitted: they are not accepted, and the backlog is full."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.fillers = [socket.socket() for _ in range(4)]
        for filler in self.fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
        time.sleep(0.02)

    def is_waiting(self):
        """Whether a client other than the fillers is connecting (proc(5), /proc/net/tcp)."""
        remote, own = f":{self.port:04X}", {f":{filler.getsockname()[1]:04X}" for filler in self.fillers}
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(line[2].endswith(remote) and line[3] == "02" and line[1][-5:] not in own for line in lines)

    def admit(self, proxy):
        for filler in self.fillers:
            filler.close()
        threading.Thread(target=proxy.listen, args=(self.listener,), daemon=True).start()


def wait_for(is_there, process):
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None and not is_there():
        time.sleep(0.001)


def run_row(sandbox, seed, *arguments):
    """A row whose second signal came too late is repeated: the program may rightly have stopped waiting."""
    for attempt in range(ATTEMPTS):
        trial, is_in_time = run_once(sandbox, seed + attempt * 1_000_000, *arguments)
        if is_in_time or trial.verdict != "ok":
            return trial
    trial.unmet.append("this machine is too slow for the pause between the signals")
    return trial


def run_once(sandbox, seed, name, transport, stage, moment, numbers, pause):
    sender = Sender(numbers, pause)
    trial = Trial(name, sandbox, seed, Rule(stage, moments={moment: sender}, times=1))
    file = trial.file(200_000)
    unreachable = Unreachable() if moment == "connecting" else None
    if unreachable:
        trial.machine.url = unreachable.url
    sender.process = trial.start_upload(file, transport=transport)
    sender.is_started.set()
    if moment == "store opened":
        database = trial.machine.path / "data/tokens.sqlite"
        wait_for(database.exists, sender.process)
        sender()
    elif unreachable:
        wait_for(unreachable.is_waiting, sender.process)
        sender()
        unreachable.admit(trial.proxy)
    first = trial.machine.finish(sender.process, 60)
    ended_at = time.monotonic()
    trial.expect("the server is still busy", trial.proxy.wait_until_idle())
    trial.took(first, expected_codes(numbers, moment))
    trial.expect("the signal was not sent", sender.is_sent)
    is_abandoned = gives_up(numbers, pause)
    is_in_time = is_abandoned or not sender.may_be_repeat
    trial.may_lose = is_abandoned or not is_in_time or sender.is_limit_over(trial.proxy.token_sent_at or ended_at)
    is_waited_for = (stage, moment) in WAITING and numbers[0] in (*STOPS, *IGNORED) and not trial.may_lose
    if is_waited_for:
        trial.expect("the token is not stored", bool(trial.proxy.tokens & set(trial.numbers().values())))
    trial.check(first, file)

    # The user's next step.
    trial.age_journal()
    trial.took(trial.machine.run("uploads", "status", *SETTLE_OPTIONS, limit=60))
    again = trial.upload(file, transport=transport)
    truth = trial.check(again, file)
    trial.expect("the file is not on the server in the end", truth.has(file, trial.event))
    trial.expect("stored twice", len(truth.rows(file, trial.event)) < 2)
    if unreachable:
        unreachable.listener.close()
    return trial.finish(file), is_in_time
