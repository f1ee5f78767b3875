#!/usr/bin/env bash
# Runs the tests under the thread sanitizer, then under the address sanitizer (leaks included). Each has a build of its own,
# whose log is .build-tsan/sanitize.log and .build-asan/sanitize.log. Arguments choose tests (--filter …); without them all
# are run as scripts/test.sh runs them, in two processes side by side.
#
#   SANITIZERS="thread address"   which of them
set -euo pipefail
cd "$(dirname "$0")/.."

# A crash under a sanitizer can leave a hung backtrace helper that keeps the output open.
export SWIFT_BACKTRACE=enable=no
# Deadlines of the tests are for programs at full speed.
export MEDIACTL_TEST_PATIENCE=${MEDIACTL_TEST_PATIENCE:-5}
# Left to itself, every program waits a second at its end for threads that may still race: the tests start thousands.
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan.supp:atexit_sleep_ms=0
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0

failed=0
complain() { # complain SANITIZER LOG
    echo "sanitize: $1 FAILED; what it said is in $2" >&2
    grep -nE '(WARNING|ERROR|SUMMARY): (Thread|Address|Leak)Sanitizer' "$2" | sort -u -t: -k2 | head -20 >&2 || true
    tail -20 "$2" >&2
    failed=1
}

run() { # run SANITIZER SCRATCH-PATH [TEST OPTION…]
    local sanitizer=$1 scratch=$2 log=$2/sanitize.log
    shift 2
    local options=(--sanitize="$sanitizer" -Xswiftc -use-ld=lld -Xswiftc -gline-tables-only)
    mkdir -p "$scratch"
    echo "sanitize: $sanitizer, logging to $log"
    if ! MEDIACTL_TEST_SCRATCH=$scratch scripts/build.sh --build-tests "${options[@]}" >"$log" 2>&1; then
        complain "$sanitizer (building)" "$log"
        return
    fi
    # A report of a sanitizer ends the process with an error, at the latest when it ends.
    local bundle=$PWD/$scratch/release/mediactlPackageTests.xctest
    if MEDIACTL_TEST_BUNDLE=$bundle timeout 7200 scripts/test.sh "$@" >"$log" 2>&1; then
        echo "sanitize: $sanitizer: $(grep -E '^test: [1-9]|Test run with [1-9]' "$log" | tail -1)"
    else
        complain "$sanitizer" "$log"
    fi
}

for sanitizer in ${SANITIZERS:-thread address}; do
    case $sanitizer in
    thread) run thread .build-tsan "$@" ;;
    address) run address .build-asan "$@" ;;
    *)
        echo "sanitize: no such sanitizer: $sanitizer" >&2
        exit 2
        ;;
    esac
done
exit $failed
