#!/usr/bin/env bash
# Runs the tests built by `scripts/build.sh --build-tests`. With arguments: the selected tests (--filter …); otherwise
# all tests, in four parallel processes. MEDIACTL_TEST_BUNDLE is the path of another build's tests. MEDIACTL_BINARY is
# the path of a different mediactl to test (.ci/run uses the release build): every test that starts mediactl uses this
# program. Only a command to be killed at a failpoint starts the program built with the tests, since a release has no
# failpoints. A run without tests fails, since the test runner itself exits with 0 if a filter matches nothing. Each
# process runs one test at a time: many tests wait for programs, and Swift's pool has only one thread per core, so
# parallel tests would block each other until a deadline passes (docs/adr/0007).
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

# Failures are printed again at the end, shortened: often only the last twenty lines of a long log are kept.
print_failures() { # print_failures LOG
    # An issue is a line and the comments below it, up to the next line that begins with a symbol.
    local issues
    issues=$(awk '
        /^(✘|✔|◇|→|□|␟|⧗)/ { isIssue = /^✘.* recorded an issue/; lines = 0 }
        isIssue && ++lines <= 6 { print substr($0, 1, 500) }
    ' "$1" | tail -18)
    # After a crash there are no issues: print the running test and the cause of the crash.
    echo "${issues:-$(grep -E '^◇|Fatal error|crashed|signal code|error:' "$1" | tail -8 | cut -c 1-300)}"
}

# has_passed LOG STATUS: whether tests ran and all of them passed; prints any failures.
has_passed() {
    if [ "$2" -ne 0 ]; then
        echo
        echo "test: exited with $2; failures:"
        print_failures "$1"
        return 1
    fi
    if ! grep -qE 'Test run with [1-9][0-9]* tests? .*passed' "$1"; then
        echo "test: no tests ran" >&2
        return 1
    fi
}

# Run directly: `swift test` would build a different configuration, and two instances of it would wait for each other.
bundle=${MEDIACTL_TEST_BUNDLE:-$PWD/.build-test/release/mediactlPackageTests.xctest}
[ -x "$bundle" ] || {
    echo "test: no test build; run scripts/build.sh --build-tests" >&2
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

# Groups that take about the same time, by the durations that a run prints; the last group has the other modules.
groups=('^(ProofTests|MediaFilesTests|MediaCryptoTests|TusTests)\.' '^CLITests\.' '^(GigHiveTests|SandboxTests)\.')
others=()
for group in "${groups[@]}"; do
    others+=(--skip "$group")
done

jobs=()
for number in 1 2; do
    run --filter "${groups[number]}" >"$logs/$number" &
    jobs[number]=$!
done
run "${others[@]}" >"$logs/3" &
jobs[3]=$!
statuses=(0 0 0 0)
run --filter "${groups[0]}" | tee "$logs/0" || statuses[0]=$?
for number in "${!jobs[@]}"; do
    wait "${jobs[number]}" || statuses[number]=$?
    cat "$logs/$number"
done
passed=yes
for number in "${!statuses[@]}"; do
    has_passed "$logs/$number" "${statuses[number]}" || passed=no
done
[ $passed = yes ]
echo "test: $(awk '/Test run with .* passed/ { sum += $5 } END { print sum }' "$logs"/*) tests passed"
