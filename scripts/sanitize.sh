#!/usr/bin/env bash
# Runs the tests under the thread sanitizer, then under the address sanitizer (leaks included). Each has a build of its
# own. Extra arguments go to `swift test` (--filter …).
set -euo pipefail
cd "$(dirname "$0")/.."

# A crash under a sanitizer can leave a hung backtrace helper that keeps the output open.
export SWIFT_BACKTRACE=enable=no
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan.supp
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0

run() {
    local sanitizer=$1 scratch=$2
    shift 2
    echo "sanitize: $sanitizer"
    local log
    log=$(mktemp)
    # XCTest itself leaks, so it stays out.
    # One test at a time, as in scripts/test.sh.
    timeout 3600 swift test --disable-xctest --no-parallel --sanitize="$sanitizer" --scratch-path "$scratch" \
        -Xswiftc -use-ld=lld "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        rm -f "$log"
        return 1
    }
    grep -E 'Test run with [1-9]' "$log" || {
        echo "sanitize: no test was run" >&2
        rm -f "$log"
        return 1
    }
    rm -f "$log"
}

run thread .build-tsan "$@"
# The search for leaks needs to trace the process, and so does strace, which these tests use.
run address .build-asan --skip DurabilityTests "$@"
