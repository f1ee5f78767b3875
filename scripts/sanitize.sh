#!/usr/bin/env bash
# Runs the tests with the thread sanitizer, then with the address sanitizer (leaks included), then with the address
# sanitizer in an optimized build (-O, except the tests themselves): in an unoptimized build, a dangling pointer often
# still points to valid data. Each has a separate build, whose log is sanitize.log in .build-tsan, .build-asan or
# .build-asan-optimized. Arguments select tests (--filter …); without them, all tests run as in scripts/test.sh, in four
# parallel processes.
#
#   SANITIZERS="thread address optimized"   the sanitizers to run
set -euo pipefail
cd "$(dirname "$0")/.."

# A crash with a sanitizer can leave a hung backtrace helper that keeps the output open.
export SWIFT_BACKTRACE=enable=no
# The tests must start the program built with the sanitizer.
unset MEDIACTL_BINARY
# The deadlines of the tests assume programs at full speed.
export MEDIACTL_TEST_PATIENCE=${MEDIACTL_TEST_PATIENCE:-5}
# By default, every program waits a second at exit for threads that may still race; the tests start thousands of
# programs.
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan.supp:atexit_sleep_ms=0
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0

failed=0
complain() { # complain SANITIZER LOG
    echo "sanitize: $1 FAILED; see $2" >&2
    grep -nE '(WARNING|ERROR|SUMMARY): (Thread|Address|Leak)Sanitizer' "$2" | sort -u -t: -k2 | head -20 >&2 || true
    tail -20 "$2" >&2
    failed=1
}

run() { # run SANITIZER LEVEL SCRATCH-PATH [TEST OPTION…]
    local sanitizer=$1 level=$2 scratch=$3 log=$3/sanitize.log
    shift 3
    local options=(--sanitize="$sanitizer" -Xswiftc -use-ld=lld -Xswiftc -gline-tables-only)
    mkdir -p "$scratch"
    echo "sanitize: $sanitizer over $level, logging to $log"
    if ! MEDIACTL_TEST_SCRATCH=$scratch MEDIACTL_TEST_OPTIMIZATION=$level \
        scripts/build.sh --build-tests "${options[@]}" >"$log" 2>&1; then
        complain "$sanitizer over $level (building)" "$log"
        return
    fi
    # A sanitizer report makes the process fail, either immediately or at its normal exit.
    local bundle=$PWD/$scratch/release/mediactlPackageTests.xctest
    if MEDIACTL_TEST_BUNDLE=$bundle timeout 7200 scripts/test.sh "$@" >"$log" 2>&1; then
        echo "sanitize: $sanitizer over $level: $(grep -E '^test: [1-9]|Test run with [1-9]' "$log" | tail -1)"
    else
        complain "$sanitizer over $level" "$log"
    fi
}

for sanitizer in ${SANITIZERS:-thread address optimized}; do
    case $sanitizer in
    thread) run thread -Onone .build-tsan "$@" ;;
    address) run address -Onone .build-asan "$@" ;;
    optimized) MEDIACTL_TESTS_UNOPTIMIZED=1 run address -O .build-asan-optimized "$@" ;;
    *)
        echo "sanitize: no such sanitizer: $sanitizer" >&2
        exit 2
        ;;
    esac
done
exit $failed
