"""Random batches: the number of files on the server must always equal the number claimed."""

import random
import shutil

from client import PRESENT, Machine, Maker, Truth, false_claims


class BatchStatistics:
    """The results of the batches for one release."""

    def __init__(self, release):
        self.release = release
        self.batches = self.files = self.claimed = self.stored = self.false_batches = 0
        self.failures = []


class Batches:
    """Batches that upload new and previously used files to a growing set of events."""

    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.random = random.Random(f"{seed} {server.release}")
        self.maker = Maker(f"{seed} {server.release}")
        self.events, self.contents = [], []
        self.stats = BatchStatistics(server.release)

    def files(self, machine, count):
        made = []
        for _ in range(count):
            # About every seventh file has the bytes of another file, in this batch or an earlier one.
            if self.contents and self.random.random() < 0.15:
                made.append(self.maker.file(machine, content=self.random.choice(self.contents)))
            else:
                content = self.maker.content(self.random.choice([500, 3000, 40_000]))
                self.contents.append(content)
                made.append(self.maker.file(machine, content=content))
        return made

    def event(self):
        if self.events and self.random.random() < 0.4:
            return self.random.choice(self.events)
        self.events.append(self.maker.event("batch"))
        return self.events[-1]

    def run(self, number):
        """Runs one batch; returns the false claims."""
        event, machines, started = self.event(), [], []
        unfinished = self.server.tus.counted() if self.server.tus else set()
        for _ in range(2 if self.random.random() < 0.3 else 1):
            transport = self.random.choice(["multipart", "multipart", "multipart", "tus"])
            machine = Machine(self.server.url, self.server.accounts["user"], transport)
            machines.append(machine)
            files = self.files(machine, self.random.randint(1, 20))
            jobs = str(self.random.randint(1, 16))
            started.append((machine, files, machine.start(*machine.upload_arguments(files, event, "-j", jobs))))
        results = [(machine.finish(process), files) for machine, files, process in started]
        truth = Truth(self.server)
        wrong = []
        for result, files in results:
            wrong += self.compare(result, files, event, truth)
        # Files in the event, and files claimed to be in it, for both machines.
        files = {file.digest for _, some in results for file in some}
        names = {file.name: file.digest for _, some in results for file in some}
        claimed = {
            names[item.path] for result, _ in results for item in result.items
            if item.state in PRESENT and item.path in names
        }
        stored = {file.digest for _, some in results for file in some if truth.has(file, event)}
        self.stats.batches += 1
        self.stats.files += len(files)
        self.stats.claimed += len(claimed)
        self.stats.stored += len(stored)
        if claimed != stored:
            wrong.append(f"{len(claimed)} files claimed, {len(stored)} in the event")
        if different := truth.disagreement([event]):
            wrong.append(different)
        if wrong:
            self.stats.false_batches += 1
            self.stats.failures.append(f"batch {number}: {'; '.join(sorted(set(wrong)))}")
        if self.server.tus:
            self.server.tus.expire(self.server.tus.counted() - unfinished)
        for machine in machines:
            shutil.rmtree(machine.path, ignore_errors=True)
            machine.close()
        return wrong

    def compare(self, result, files, event, truth):
        wrong = false_claims(result, files, event, truth)
        if len(result.items) != len(files):
            wrong.append(f"{len(result.items)} results for {len(files)} files")
        absent = [file for file in files if not truth.has(file, event)]
        if result.code == 0 and absent:
            wrong.append(f"exit 0, {len(absent)} of {len(files)} files are missing")
        return wrong
