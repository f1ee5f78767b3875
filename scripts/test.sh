#!/usr/bin/env bash
# Runs the tests that `scripts/build.sh --build-tests` has built. With arguments: what they choose (--filter …); else all of
# them, in three processes side by side. MEDIACTL_TEST_BUNDLE is the path of another build's tests.
# MEDIACTL_BINARY is the path of another mediactl to test (the gate uses the release build): every test that starts the
# program starts that one. Only a command to be killed at a failpoint starts the program built with the tests: a release has
# no failpoints.
# A run without a single test fails: the test runner itself ends with 0 when a filter matches nothing.
# Within a process one test at a time: many of them wait for programs, and Swift's pool has only as many threads as there
# are cores, so that tests side by side would starve each other until a deadline passes (docs/adr/0007).
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

# What failed is said once more at the end, shortened: of a long log often the last twenty lines are all that is kept.
say_what_failed() { # say_what_failed LOG
    # An issue is a line with its comments below it, up to the next line that begins with a mark.
    local issues
    issues=$(awk '
        /^(✘|✔|◇|→|□|␟|⧗)/ { isIssue = /^✘.* recorded an issue/; lines = 0 }
        isIssue && ++lines <= 6 { print substr($0, 1, 500) }
    ' "$1" | tail -18)
    # After a crash there is none: then the test that was running, and what ended it.
    echo "${issues:-$(grep -E '^◇|Fatal error|crashed|signal code|error:' "$1" | tail -8 | cut -c 1-300)}"
}

# has_passed LOG STATUS: whether tests were run, and all is well; says what is not.
has_passed() {
    if [ "$2" -ne 0 ]; then
        echo
        echo "test: ended with $2; what failed:"
        say_what_failed "$1"
        return 1
    fi
    if ! grep -qE 'Test run with [1-9][0-9]* tests? .*passed' "$1"; then
        echo "test: no test was run" >&2
        return 1
    fi
}

# The bundle itself: `swift test` would build for another configuration, and two of them would wait for each other.
bundle=${MEDIACTL_TEST_BUNDLE:-$PWD/.build-test/release/mediactlPackageTests.xctest}
[ -x "$bundle" ] || {
    echo "test: nothing is built; run scripts/build.sh --build-tests" >&2
    exit 1
}
if [ -n "${MEDIACTL_BINARY:-}" ]; then
    [ -x "$MEDIACTL_BINARY" ] || {
        echo "test: MEDIACTL_BINARY: $MEDIACTL_BINARY is not an executable file" >&2
        exit 1
    }
    MEDIACTL_BINARY=$(realpath "$MEDIACTL_BINARY")
    export MEDIACTL_BINARY
    echo "test: program under test: $MEDIACTL_BINARY"
fi
run() { NO_COLOR=1 "$bundle" --testing-library swift-testing --no-parallel "$@" 2>&1; }

if [ $# -gt 0 ]; then
    status=0
    run "$@" | tee "$logs/all" || status=$?
    has_passed "$logs/all" "$status"
    exit
fi

# Three groups that take about the same time; the third has the other modules.
groups=('^(ProofTests|SandboxTests)\.' '^CLITests\.')

run --filter "${groups[1]}" >"$logs/1" &
jobs[1]=$!
run --skip "${groups[0]}" --skip "${groups[1]}" >"$logs/2" &
jobs[2]=$!
statuses=(0 0 0)
run --filter "${groups[0]}" | tee "$logs/0" || statuses[0]=$?
for number in 1 2; do
    wait "${jobs[number]}" || statuses[number]=$?
    cat "$logs/$number"
done
passed=yes
for number in 0 1 2; do
    has_passed "$logs/$number" "${statuses[number]}" || passed=no
done
[ $passed = yes ]
echo "test: $(awk '/Test run with .* passed/ { sum += $5 } END { print sum }' "$logs"/*) tests passed"
