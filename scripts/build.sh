#!/usr/bin/env bash
# `swift build` that fails on any warning of this package. Compiler warnings are already errors if
# MEDIACTL_WARNINGS_AS_ERRORS=1; this also catches warnings of SwiftPM and the linker.
#
# With --build-tests: builds into .build-test for scripts/test.sh. Not optimized, but without the condition DEBUG: with
# it, ArgumentParser validates its commands at every start, which takes ten times as long as a typical test
# (docs/adr/0022). Includes failpoints (KILL_POINTS) and code used via `@testable` outside test targets (TESTABLE), but
# no debug information. SwiftPM finds tests in the index. MEDIACTL_TEST_SCRATCH replaces the directory .build-test,
# MEDIACTL_TEST_OPTIMIZATION the level -Onone: scripts/sanitize.sh makes the same build with a sanitizer, and once with
# -O.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=.build
options=()
for argument in "$@"; do
    if [ "$argument" = --build-tests ]; then
        scratch=${MEDIACTL_TEST_SCRATCH:-.build-test}
        options=(-c release --scratch-path "$scratch" --enable-index-store)
        # A release build uses -O; an option here would also override the level of individual targets.
        [ "${MEDIACTL_TEST_OPTIMIZATION:--Onone}" = -O ] || options+=(-Xswiftc "${MEDIACTL_TEST_OPTIMIZATION:--Onone}")
        options+=(-Xswiftc -enable-testing -Xswiftc -gnone -Xswiftc -DKILL_POINTS -Xswiftc -DTESTABLE)
        # Compiles file by file: both cores compile one module, and a change compiles only the files that depend on it.
        options+=(-Xswiftc -no-whole-module-optimization -Xswiftc -enable-batch-mode)
    fi
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build "${options[@]}" "$@" 2>&1 | tee "$log"
# SwiftPM also warns about dependencies, by path or by name.
foreign=$(ls "$scratch/checkouts" 2>/dev/null | paste -sd '|')
# SwiftPM passes -num-threads to every release build; file by file, the compiler ignores it.
unused='^warning: ignoring -num-threads argument; cannot multithread batch mode$'
if grep -E '(^|[^a-z])warning:' "$log" | grep -vE "/checkouts/|warning: '(${foreign:-none})':|$unused" >&2; then
    echo "build: the warnings above are treated as errors" >&2
    exit 1
fi
