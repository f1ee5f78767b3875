#!/usr/bin/env bash
# `swift build` that fails on any warning of this package. Compiler warnings are errors already when
# MEDIACTL_WARNINGS_AS_ERRORS=1; this also catches what SwiftPM and the linker have to say.
#
# With --build-tests: as scripts/test.sh runs them, into .build-test. Not optimised, but without the condition DEBUG: under
# it ArgumentParser examines its commands anew at every start, which takes ten times as long as what a test wants
# (docs/adr/0022). The places where tests let the program die are in (KILL_POINTS), and what tests reach by `@testable`
# outside of test targets (TESTABLE); debug information is not. SwiftPM looks for tests in the index.
# MEDIACTL_TEST_SCRATCH replaces the directory .build-test, MEDIACTL_TEST_OPTIMIZATION the level -Onone: scripts/sanitize.sh
# builds the same with a sanitizer, and once with -O.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=.build
options=()
for argument in "$@"; do
    if [ "$argument" = --build-tests ]; then
        scratch=${MEDIACTL_TEST_SCRATCH:-.build-test}
        options=(-c release --scratch-path "$scratch" --enable-index-store)
        # The level of a release build is -O; an option here would also override that of single targets.
        [ "${MEDIACTL_TEST_OPTIMIZATION:--Onone}" = -O ] || options+=(-Xswiftc "${MEDIACTL_TEST_OPTIMIZATION:--Onone}")
        options+=(-Xswiftc -enable-testing -Xswiftc -gnone -Xswiftc -DKILL_POINTS -Xswiftc -DTESTABLE)
    fi
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build "${options[@]}" "$@" 2>&1 | tee "$log"
# SwiftPM also speaks about dependencies: by path, or by name.
foreign=$(ls "$scratch/checkouts" 2>/dev/null | paste -sd '|')
if grep -E '(^|[^a-z])warning:' "$log" | grep -vE "/checkouts/|warning: '(${foreign:-none})':" >&2; then
    echo "build: the warnings above are errors here" >&2
    exit 1
fi
