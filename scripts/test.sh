#!/usr/bin/env bash
# Runs the tests that `scripts/build.sh --build-tests` has built. Extra arguments go to `swift test` (--filter …).
# A run without a single test fails: `swift test` itself ends with 0 when a filter matches nothing.
# One test at a time: many of them wait for processes, and Swift's pool has only as many threads as there are cores, so
# that tests side by side would starve each other until a deadline passes.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What failed is said once more at the end, shortened: of a long log often the last twenty lines are all that is kept.
say_what_failed() {
    # An issue is a line with its comments below it, up to the next line that begins with a mark.
    local issues
    issues=$(awk '
        /^(✘|✔|◇|→|□|␟|⧗)/ { isIssue = /^✘.* recorded an issue/; lines = 0 }
        isIssue && ++lines <= 6 { print substr($0, 1, 500) }
    ' "$log" | tail -18)
    # After a crash there is none: then the test that was running, and what ended it.
    echo "${issues:-$(grep -E '^◇|Fatal error|crashed|signal code|error:' "$log" | tail -8 | cut -c 1-300)}"
}

status=0
swift test --skip-build --disable-xctest --no-parallel "$@" 2>&1 | tee "$log" || status=$?
if [ $status -ne 0 ]; then
    echo
    echo "test: ended with $status; what failed:"
    say_what_failed
    exit "$status"
fi
if ! grep -qE 'Test run with [1-9][0-9]* tests? .*passed' "$log"; then
    echo "test: no test was run" >&2
    exit 1
fi
