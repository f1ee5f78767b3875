#!/usr/bin/env python3
"""Fails if a module has a forbidden import, or if a Package.swift declares dependencies that differ from the imports.

    scripts/check-imports.py [DIRECTORY]

Run by `make lint`. Add new modules and imports to the table below first, where they can be reviewed.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SYSTEM = "Dispatch Foundation Glibc Synchronization"  # for all modules
FOUNDATIONS = "MediaCore MediaCrypto MediaFiles MediaStore MediaSystem MediaTransport Outcomes"
# The permitted imports of systems that differ from the foundations. The module that sends hash-only captures can access
# neither files nor the store.
SYSTEMS = {
    "CaptureSubmission": "MediaCore MediaCrypto MediaTransport Outcomes",
    "GigHive": f"CZlib Tus {FOUNDATIONS}",
    "HashCapture": f"CaptureSubmission CImageShims CPlaces CZlib {FOUNDATIONS}",
}

# Each module and its permitted imports besides SYSTEM. Imports only point upward in this table, never within a tier.
TABLE = {
    # C
    "CCurl": "",
    "CCurlShims": "CCurl",
    "CFileSystem": "",
    "CImageShims": "",
    "COpenSSL": "",
    "CPlaces": "",
    "CSQLiteShims": "",
    "CZlib": "",
    # Values and text shared by all modules. It can access neither files nor the network.
    "MediaCore": "",
    # The operating system interfaces used by the foundations.
    "MediaSystem": "",
    # Outcome codes and the error type, shared by all systems.
    "Outcomes": "MediaSystem",
    # Foundations. Each external library is used by one module.
    "MediaTransport": "MediaCore MediaSystem Outcomes CCurl CCurlShims",
    "MediaCrypto": "MediaCore MediaSystem COpenSSL",
    "MediaFiles": "MediaCore MediaSystem Outcomes CFileSystem Subprocess SystemPackage",
    "MediaStore": "MediaCore MediaSystem Outcomes CFileSystem CSQLiteShims GRDB GRDBSQLite",
    # Protocols shared by several servers: bytes in, verified results out.
    "Tus": "MediaCore MediaCrypto MediaTransport",
    # The library product, and the command line.
    "MediaKit": f"SYSTEMS Tus {FOUNDATIONS}",
    "MediaCLI": f"SYSTEMS Tus {FOUNDATIONS} ArgumentParser Yams",
    "mediactl": "MediaCLI",
    # The package of the test server: it does not use any module of the client, so a misinterpretation cannot occur on
    # both sides.
    "CLibcrypto": "",
    "Sandbox": "CLibcrypto ArgumentParser GRDB HTTPTypes HummingbirdCore Logging NIOCore NIOHTTPTypes NIOPosix "
    "ServiceLifecycle UnixSignals",
    "mediactl-sandbox": "Sandbox ArgumentParser",
    # Benchmarks and fuzzers.
    "transport-bench": "MediaTransport Tus",
    "depth-bench": "CaptureSubmission HashCapture",
    "FuzzEntries": f"MediaCLI SYSTEMS Tus {FOUNDATIONS}",
    "Fuzzer": "FuzzEntries CFuzzer",
    "CFuzzer": "",
    # Tests. `XTests` may import X and the imports permitted for X; the others are listed here. TestSupport uses none of
    # the project's modules, so that the sandbox's tests share no code with the client either.
    "CTestSupport": "",
    "TestSupport": "CTestSupport FoundationNetworking Testing",
    "store-worker": "MediaStore MediaSystem",
    "CLITests": f"MediaCLI SYSTEMS Tus {FOUNDATIONS} ArgumentParser",
    "ProofTests": "MediaStore",
    "GuardTests": "",
    "ConformanceTests": f"SYSTEMS Tus {FOUNDATIONS} FuzzEntries",
}
# The systems are the other modules of this package that MediaKit exports.
SOURCES = pathlib.Path(__file__).resolve().parent.parent / "Sources"
for module in re.findall(r"^@_exported public import (\w+)", (SOURCES / "MediaKit/MediaKit.swift").read_text(), re.M):
    if module not in TABLE and (SOURCES / module).is_dir():
        SYSTEMS.setdefault(module, FOUNDATIONS)
TABLE = {module: imports.replace("SYSTEMS", " ".join(SYSTEMS)) for module, imports in TABLE.items()} | SYSTEMS

# Linked by the fuzzer, which never imports it: it contains the fuzzer's `main`.
ONLY_LINKED = {"CFuzzer"}
# Not a test, but calls internal parsers as tests do: the fuzzer attacks them through it, and tests replay the inputs
# that failed. A release build does not contain it.
SEES_INTERNALS = {"FuzzEntries"}
# Modules whose names differ from that of their package's product.
PRODUCTS = {"GRDBSQLite": "GRDB"}
# The library product consists only of the modules that it re-exports.
PASSES_ON = {"MediaKit"}
# The codes of the errors thrown by the systems are re-exported by the systems.
PASSED_ON = {"Outcomes"}
# Modules whose public signatures contain a type of another package.
SHOWS_FOREIGN = {("Sandbox", "ArgumentParser"), ("TestSupport", "Testing")}

# Directories with a Package.swift.
PACKAGES = ["", "Sandbox"]

IMPORT = re.compile(
    r"^\s*(?P<attributes>(?:@\w+(?:\([^)]*\))?\s+)*)"
    r"(?:(?P<access>public|package|internal|fileprivate|private)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(?P<module>\w+)"
)


class Target:
    """A target of a Package.swift, with the imports of its files."""

    def __init__(self, root, package, manifest):
        self.package = root / package
        self.manifest = (self.package / "Package.swift").relative_to(root)
        self.name = manifest["name"]
        self.kind = manifest["type"]
        parent = "Tests" if self.kind == "test" else "Sources"
        self.directory = self.package / (manifest.get("path") or f"{parent}/{self.name}")
        self.declared = {
            dependency[kind][0]
            for dependency in manifest["dependencies"]
            for kind in ("byName", "target", "product")
            if kind in dependency
        }
        self.files = sorted(self.directory.rglob("*.swift"))
        self.imports = [
            (f"{file.relative_to(root)}:{number}", match) for file in self.files for number, match in imports(file)
        ]

    def may_import(self):
        """Module names, or None for a target that is not in the table."""
        modules = TABLE.get(self.name)
        if self.kind == "test":
            subject = self.name.removesuffix("Tests")
            if modules is None and subject in TABLE:
                modules = f"{subject} {TABLE[subject]}"
            if modules is not None:
                modules += " FoundationNetworking TestSupport Testing"
        return None if modules is None else set(modules.split())


def imports(file):
    """(line number, match) of every import; ignores comments and multi-line strings."""
    until = None
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if until is None:
            for statement in line.split(";"):
                match = IMPORT.match(statement)
                if match is None:
                    break
                yield number, match
        for mark in re.findall(r'"""|/\*|\*/|//', line):
            if until is None and mark == "//":
                break
            if until is None and mark in ('"""', "/*"):
                until = '"""' if mark == '"""' else "*/"
            elif mark == until:
                until = None


def complaints_of_imports(target, may, swift_modules):
    for place, match in target.imports:
        module = match["module"]
        if module in SYSTEM.split():
            continue
        if module not in may:
            yield f"{place}: {target.name} may not import {module}, only: {' '.join(sorted(may)) or 'none of ours'}"
        shown = match["access"] in ("public", "package")
        if shown and module not in swift_modules and (target.name, module) not in SHOWS_FOREIGN:
            yield f"{place}: types of {module} must not be in signatures that other modules see"
        if "@_exported" in match["attributes"] and target.name not in PASSES_ON and module not in PASSED_ON:
            yield f"{place}: only {' '.join(sorted(PASSES_ON))} re-exports modules"
        if "@testable" in match["attributes"] and target.kind != "test" and target.name not in SEES_INTERNALS:
            yield f"{place}: only tests may use @testable imports"


def complaints_of_manifest(target, may, programs):
    runs = target.declared & programs
    if runs and target.kind != "test":
        yield f"{target.manifest}: {target.name} may not depend on a program: {' '.join(sorted(runs))}"
    for module in sorted(target.declared - programs - may):
        yield f"{target.manifest}: {target.name} may not depend on {module}, only: {' '.join(sorted(may))}"
    if not target.files:
        return
    imported = {match["module"]: place for place, match in reversed(target.imports)}
    for module in sorted(target.declared - programs - imported.keys()):
        if module not in ONLY_LINKED:
            yield f"{target.manifest}: {target.name} declares {module}, which none of its files imports"
    known = target.declared | {*SYSTEM.split(), "FoundationNetworking", "Testing"}
    for module, place in imported.items():
        if module in may and PRODUCTS.get(module, module) not in known:
            yield f"{place}: {target.name} imports {module}, which {target.manifest} does not declare for it"


def targets_of(root, package):
    with tempfile.TemporaryDirectory() as scratch:
        manifest = subprocess.run(
            ["swift", "package", "--scratch-path", scratch, "dump-package"],
            cwd=root / package,
            env=os.environ | {"MEDIACTL_BENCHMARKS": "1", "MEDIACTL_FUZZ": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    return [Target(root, package, each) for each in json.loads(manifest.stdout)["targets"]]


def complaints(root):
    packages = [package for package in PACKAGES if (root / package / "Package.swift").exists()]
    targets = [target for package in packages for target in targets_of(root, package)]
    programs = {target.name for target in targets if target.kind == "executable"}
    swift_modules = {target.name for target in targets if target.files}
    for target in targets:
        may = target.may_import()
        if may is None:
            yield f"{target.manifest}: {target.name} is not in the table of scripts/check-imports.py"
        else:
            yield from complaints_of_imports(target, may, swift_modules)
            yield from complaints_of_manifest(target, may, programs)
    for package in packages:
        for directory in sorted((root / package / "Sources").iterdir()):
            if directory.is_dir() and all(directory != target.directory for target in targets):
                yield f"{directory.relative_to(root)}: no target of Package.swift"


root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
found = list(complaints(root))
for complaint in found:
    print(f"imports: {complaint}", file=sys.stderr)
sys.exit(1 if found else 0)
