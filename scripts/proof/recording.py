"""A recorded run: its writes, its output, and the state of its server at each point."""

import collections
import copy
import json
import pathlib
import shutil

from disk import Disk, Remainder, materialize
from events import Op, read
from harness import Front, Machine, Sandbox, SetupError, records

# The conditions at a point: the stage of the server, the records printed so far, and the tokens covered by a sync.
Duties = collections.namedtuple("Duties", "stage printed kept")


class Whole:
    """A choice with no missing parts."""

    takes_times = True

    @staticmethod
    def names(directory):
        return len(directory.pending)

    @staticmethod
    def content(node):
        return bytes(node.latest)



def token_pairs(value):
    """The IDs and delete tokens in a response, at any depth."""
    found = []
    if isinstance(value, dict):
        if isinstance(value.get("delete_token"), str):
            number = value.get("id") or value.get("file_id") or value.get("asset_id")
            found.append((int(number), value["delete_token"]))
        for part in value.values():
            found += token_pairs(part)
    elif isinstance(value, list):
        for part in value:
            found += token_pairs(part)
    return found


class Recording:
    """A scenario that was run once with the recorder."""

    def __init__(self, scenario, work, library, seed):
        self.scenario, self.work = scenario, pathlib.Path(work)
        self.machine = Machine(self.work / "machine", library)
        sandbox = Sandbox(self.work / "server", *scenario.server_options)
        try:
            self.front = Front(sandbox, self.work / "stages")
            self.machine.url = self.front.url
            scenario.prepare(self.machine, seed)
            self.roots = [str(root) for root in scenario.roots(self.machine)]
            self.before = len(self.front.times)
            # Only this disk has the initial inodes; it gets later ones from the trace.
            self.initial = Disk(self.roots)
            self.runs = self._record()
        finally:
            sandbox.stop()
        self.inodes = self.work / "inodes"
        self.events = read(self.work / "trace")
        self._compare()
        self._responses()
        self._tokens_on_disk()

    def _record(self):
        runs = []
        for words in self.scenario.commands:
            run = self.machine.run(*words, PROOF_TRACE=str(self.work / "trace"), PROOF_ROOTS=":".join(self.roots))
            if run.code != 0:
                raise SetupError(f"the run to be recorded failed: {run}")
            runs.append(run)
        return runs

    def _compare(self):
        """Checks that nothing was missed: the replayed trace must produce the actual directories."""
        replayed = self.disk()
        for event in self.events:
            replayed.apply(event)
        real = Disk(self.roots).state(Whole)
        state = replayed.state(Whole)
        volatile = {path for path, value in state.items() if isinstance(value, Remainder) and value.is_volatile}
        for path in sorted(set(real) | set(state)):
            mine, theirs = state.get(path), real.get(path)
            if path not in volatile and (type(mine) is not type(theirs) or (
                    isinstance(mine, Remainder) and mine.content != theirs.content) or isinstance(mine, str) and mine != theirs):
                raise SetupError(f"the recorder missed something: replaying the trace does not reproduce {path}")

    def disk(self, ignored=lambda node, event: False):
        """The disk before the run, in a model that ignores some syncs."""
        disk = copy.deepcopy(self.initial)
        disk.ignored = ignored
        return disk

    def _responses(self):
        """The server's responses by stage: IDs and tokens."""
        self.issued = {}
        for number, (_, _, status, body) in enumerate(self.front.responses, 1):
            try:
                pairs = token_pairs(json.loads(body)) if status < 300 else []
            except ValueError:
                pairs = []
            for identity, token in pairs:
                self.issued[identity] = token, number
        self.issued |= {identity: (token, 0) for identity, token in self.scenario.known_tokens.items()}

    def _tokens_on_disk(self):
        """The event that puts each token on the disk: the first sync of a file that contains it."""
        self.kept_at, written = {}, collections.defaultdict(set)
        for identity, (token, stage) in self.issued.items():
            if stage <= self.before and identity in self.scenario.kept_before:
                self.kept_at[identity] = -1
        for number, event in enumerate(self.events):
            if event.op == Op.WRITE:
                for identity, (token, _) in self.issued.items():
                    if token.encode() in event.data:
                        written[event.a].add(identity)
            elif event.op == Op.SYNC:
                for identity in written[event.a]:
                    self.kept_at.setdefault(identity, number)

    def duties(self):
        """The conditions that must hold for each event if the power fails after it."""
        output, found = b"", []
        for number, event in enumerate(self.events):
            if event.op == Op.OUTPUT:
                output += event.data
            found.append(Duties(
                self.front.stage(event.time), len(records(output.decode(errors="replace"))),
                frozenset(identity for identity, since in self.kept_at.items() if since <= number),
            ))
        return found

    def printed(self, duties):
        """The records printed by that point."""
        output = b"".join(event.data for event in self.events if event.op == Op.OUTPUT)
        return records(output.decode(errors="replace"))[:duties.printed]

    def place(self, state):
        """Writes a state to the disk, and removes all other leftovers of a run."""
        materialize(state, self.roots, self.inodes)
        for directory in (self.machine.data, self.machine.out, self.machine.cache):
            if str(directory) not in self.roots:
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir(mode=0o700)

    def stop(self):
        self.front.stop()
