"""The context of a scenario, and the row of the table that it fills."""

from client import PRESENT, Machine, Maker, Truth, false_claims
from faultproxy import FaultProxy
from servers import RELEASES


VERDICTS = ("ok", "false claim", "unmet")


class Row:
    """The result of one scenario."""

    def __init__(self, name, release):
        self.name, self.release = name, release
        self.claims, self.wrong, self.unmet, self.truth = [], [], [], ""

    @property
    def verdict(self):
        return "false claim" if self.wrong else "unmet" if self.unmet else "ok"


class Context:
    """The context of a scenario: one server, machines, new files and events."""

    def __init__(self, server, name, seed):
        self.server, self.maker = server, Maker(seed)
        self.row = Row(name, server.release)
        self.machines, self.proxy, self.events = [], None, []
        self.tokens = {}
        self.unfinished = server.tus.counted() if server.tus else set()

    def machine(self, role="user", url=None, transport="multipart"):
        machine = Machine(url or self.server.url, self.server.accounts[role], transport)
        self.machines.append(machine)
        return machine

    def event(self, name):
        event = self.maker.event(name)
        self.events.append(event)
        return event

    def faulty(self, pattern, action, times=1):
        """A machine with a connection that breaks."""
        machine = self.behind_proxy()
        self.proxy.arm(pattern, action, times)
        return machine

    def behind_proxy(self, **options):
        """A machine whose connections the scenario can monitor and break."""
        self.proxy = FaultProxy(self.server.url)
        return self.machine(url=self.proxy.url, **options)

    def claim(self, text):
        self.row.claims.append(text)

    def expect(self, what, actual, wanted):
        """Checks a fact about the server, or a code of the contract; not a claim."""
        if actual != wanted:
            self.row.unmet.append(f"{what}: {actual}, not {wanted}")

    def expect_code(self, run, *codes):
        if run.code not in codes:
            self.row.unmet.append(f"exit code {run.code}, not {' or '.join(map(str, codes))}")

    def check(self, run, files, event, truth=None):
        """Verifies the claims of an upload on the server."""
        truth = truth or Truth(self.server)
        self.claim(f"{run.states()}, exit {run.code}")
        self.row.wrong += false_claims(run, files, event, truth)
        numbers = {item.number for item in run.items if item.has_token and item.number is not None}
        self.tokens.setdefault(run.machine, set()).update(numbers)
        absent = [file for file in files if not truth.has(file, event)]
        if run.code == 0 and absent and "--dry-run" not in run.arguments:
            self.row.wrong.append(f"exit 0, {len(absent)} of {len(files)} files are missing")
        return truth

    def all_stored(self, run, files, event, *codes):
        """Checks that every file is in the event, and is claimed to be."""
        truth = self.check(run, files, event)
        self.expect("files in the event", truth.count(event), len({file.digest for file in files}))
        self.expect_code(run, *(codes or (0,)))
        return truth

    def none_stored(self, run, files, event, *codes):
        truth = self.check(run, files, event)
        self.expect("files in the event", truth.count(event), 0)
        self.expect_code(run, *codes)
        return truth

    def stored_once(self, run, files, event, *codes):
        """Like `all_stored`; each file must also have one row, with the label that mediactl reports."""
        truth = self.all_stored(run, files, event, *codes)
        for file in files:
            self.expect(f"rows of {file.path.stat().st_size} bytes", len(truth.rows(file, event)), 1)
        labels = {row.digest: row.label for file in files for row in truth.rows(file, event)}
        by_name = {file.name: file for file in files}
        for item in run.items:
            file = by_name.get(item.path)
            if file and item.state in PRESENT and item.record.get("label") != labels.get(file.digest):
                self.row.wrong.append(f"label {item.record.get('label')!r}, stored is {labels.get(file.digest)!r}")
        return truth

    def finish(self):
        if self.server.tus:
            # The next scenario must find the slots in their original state.
            self.server.tus.expire(self.server.tus.counted() - self.unfinished)
        truth = Truth(self.server)
        counts = [truth.count(event) for event in self.events]
        self.row.truth = f"{counted(sum(counts), 'file')} in {sum(map(bool, counts))} of {counted(len(counts), 'event')}"
        different = truth.disagreement(self.events)
        if different:
            self.row.unmet.append(different)
        self.check_tokens(truth)
        self.close()
        return self.row

    def check_tokens(self, truth):
        """A claimed token must delete its file, except for files that the scenario itself has deleted."""
        if self.proxy:
            self.proxy.disarm()
        stored = {row.number for row in truth.stored}
        for machine, numbers in self.tokens.items():
            # An administrator deletes without a token.
            if machine.account != self.server.accounts["user"] or not numbers & stored:
                continue
            machine.run("uploads", "delete", *sorted(numbers & stored), "--yes")
            left = numbers & {row.number for row in self.server.rows()}
            if left:
                self.row.wrong.append(f"{len(left)} tokens do not delete their file")

    def close(self):
        if self.proxy:
            self.proxy.stop()
        for machine in self.machines:
            machine.close()


def counted(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


SCENARIOS = []


def scenario(name, releases=RELEASES, needs=()):
    """Adds a function to the table, for these releases, and for servers with these attributes."""

    def add(function):
        function.releases, function.needs = releases, needs
        SCENARIOS.append((name, function))
        return function

    return add
