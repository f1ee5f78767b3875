#!/usr/bin/env python3
"""Fails if code that the client must contain only once is implemented a second time.

    scripts/check-once.py [DIRECTORY]

Run by `make lint`. Each row of the table is a pattern of an implementation, and the only files or directories that may
contain it. The sandbox is a separate package: it shares no source with the client, so a misinterpretation cannot
occur on both sides.
"""

import pathlib
import re
import sys

TABLE = [
    ("the escapes of a JSON string", r'"\\\\u(00)?"|\\\\u00\\\(', ["MediaCore/JSON/JSONText.swift"]),
    ("a type of JSON values", r"enum \w*(JSON|Wire)Value\b|struct \w*JSONObject\b|\[String: JSONValue\]", ["MediaCore/JSON/JSONValue.swift"]),
    ("a decoder of the escapes of JSON strings", r"(?i)isLeadSurrogate|0xd800", ["MediaCore/TextEscape.swift"]),
    ("a decoder of the escapes of HTML", r'(case |\[|, )"(amp|quot|apos)"', ["MediaCore/TextEscape.swift"]),
    ("a list of characters that can control a terminal", r"(?i)0x202a|\\u\{202a\}", ["MediaCore/TerminalText.swift"]),
    ("a calendar", r"\b(timegm|gmtime_r|localtime_r|mktime)\(|iso8601|ISO8601|DateFormatter\(|146_097", [
        "MediaCore/Time/CivilTime.swift",
    ]),
    ("a parser of RFC 3339", r"T\(\\d|\\dT\\d|yyyy-MM-dd'T'", ["MediaCore/Time/RFC3339.swift"]),
    ("a check of 64 hexadecimal digits", r"count == 64, .*(0x30|isHexDigit)", ["MediaCore/HexText.swift"]),
    ("a table of hexadecimal digits", r'"0123456789abcdef', ["MediaCore/HexText.swift"]),
    ("a 32-bit cyclic redundancy check", r"0xedb8_?8320|0x82f6_?3b78", ["MediaCore/Checksums.swift"]),
    # The other file doubles the interval at which it attempts to acquire a lock.
    ("a backoff", r"(?i)(pause|wait|delay|backoff|interval|upcoming)\w* \*=? 2\b|\* \(1 << |pow\(2,|\.random\(in: 0\.?0?\.\.", [
        "MediaTransport/RetryPolicy.swift", "MediaStore/LockedFile.swift",
    ]),
    ("a parser of TIFF", r"(?i)(0x2A, 0x00|0x00, 0x2A)\]:|0x8769|0x9003", ["MediaFiles/CreationTime/PhotoExif.swift"]),
    ("a listing of a directory", r"\b(readdir|opendir|scandir)\(", ["MediaSystem/DirectoryStream.swift"]),
    ("a schedule of retries", r"RetryPolicy\((delays|base|retries: \d)|\]\.map \{ \.(milli)?seconds\(", [
        "MediaTransport/RetryPolicy.swift",
    ]),
    ("a parser of Retry-After", r'(?i)"retry-after"|\bRetryAfter\.parse', ["MediaTransport/RetryPolicy.swift"]),
    # The other file ends a pause when the transfers are stopped.
    ("a pool of tasks", r"\bwith\w*TaskGroup\(", [
        "MediaSystem/BoundedTasks.swift", "MediaTransport/TransferControl.swift",
    ]),
    # The store and Interruption have serial queues, which order writes and signals.
    ("a thread for blocking work", r"detachNewThread|DispatchQueue\.global\(\)\.async\b|DispatchQueue\(label|pthread_create", [
        "MediaSystem/BlockingWork.swift", "MediaStore/", "MediaCLI/Shared/Signals/Interruption.swift",
    ]),
    # These casts apply to errors thrown by callers' closures, or while the rows of a store are read.
    ("a cast of a caught error", r"error as\? \w+( \?\?|\))", [
        "PhotoSync/Download/DownloadPlanner.swift", "MediaStore/HashCache.swift", "MediaCLI/Uploads/UploadsResume.swift",
        "MediaCLI/Shared/Session/ServerTrust.swift",
    ]),
    # Only defaults of injected values are excluded. The others read the process environment at startup.
    ("a clock or an environment that is not injected", r"(?<!\{ )(?<!: Date = )\bDate\(\)|processInfo\.environment|getenv\(", [
        "MediaCLI/CommandContext.swift", "MediaFiles/Programs/ProgramRun.swift", "MediaCLI/ProcessResources.swift",
        "MediaCLI/Program.swift", "MediaCLI/Shared/Errors/ErrorCatalog+Local.swift", "MediaCLI/Shared/Files/InputFile.swift",
        "MediaSystem/Failpoint.swift", "MediaTransport/ProxyChoice.swift", "MediaStore/",
    ]),
    # The files after the first three belong to the store, whose write order must be safe on power loss.
    ("a writer of new files", r"(?<![.\w])(?<!func )rename\(|renameat\(|Glibc\.rename\(|O_EXCL|O_TMPFILE|mkstemp\(", [
        "MediaFiles/Writing/PartialFile.swift", "MediaFiles/Writing/TargetDirectory.swift",
        "MediaCLI/Shared/Files/InputFile.swift", "MediaStore/Captures/CounterFile.swift", "MediaStore/FileStatus.swift",
        "MediaStore/HashCache.swift", "MediaStore/LockedFile.swift", "MediaStore/Repair/StoreRepair.swift",
        "MediaStore/StoreBackups.swift", "MediaStore/StoreConnection.swift", "MediaStore/StoreConnection+Snapshot.swift",
        "MediaStore/SyncIndex/IndexSchema.swift",
    ]),
    # Values in a column of a store.
    ("another JSON encoder or decoder", r"\bJSON(De|En)coder\(", [
        "MediaStore/Stored.swift",
    ]),
]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent) / "Sources"
    failed = False
    for path in sorted(root.rglob("*.swift")):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.lstrip().startswith("//"):
                continue
            for what, pattern, places in TABLE:
                if not name.startswith(tuple(places)) and re.search(pattern, line):
                    print(f"once: Sources/{name}:{number}: {what}; use {places[0]}", file=sys.stderr)
                    failed = True
    for what, _, places in TABLE:
        for place in places:
            if not (root / place).exists():
                print(f"once: Sources/{place} does not exist ({what})", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
