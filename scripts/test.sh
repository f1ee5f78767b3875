#!/usr/bin/env bash
# Runs the tests that `scripts/build.sh --build-tests` has built. Extra arguments go to `swift test` (--filter …).
# A run without a single test fails: `swift test` itself ends with 0 when a filter matches nothing.
# One test at a time: many of them wait for processes, and Swift's pool has only as many threads as there are cores, so
# that tests side by side would starve each other until a deadline passes.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What failed is said once more at the end, where the last lines of a long log are all that is kept.
status=0
swift test --skip-build --disable-xctest --no-parallel "$@" 2>&1 | tee "$log" || status=$?
if [ $status -ne 0 ]; then
    echo
    echo "test: ended with $status; what failed:"
    grep -E '^✘|^↳|error:|recorded an issue|Fatal error|signal code' "$log" | grep -v '^✘ Test run' | head -60 || true
    exit "$status"
fi
if ! grep -qE 'Test run with [1-9][0-9]* tests? .*passed' "$log"; then
    echo "test: no test was run" >&2
    exit 1
fi
