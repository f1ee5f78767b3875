#!/usr/bin/env bash
# `swift build` that fails on any warning of this package. Compiler warnings are errors already when
# MEDIACTL_WARNINGS_AS_ERRORS=1; this also catches what SwiftPM and the linker have to say.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build "$@" 2>&1 | tee "$log"
# SwiftPM also speaks about dependencies: by path, or by name.
foreign=$(ls .build/checkouts 2>/dev/null | paste -sd '|')
if grep -E '(^|[^a-z])warning:' "$log" | grep -vE "/checkouts/|warning: '(${foreign:-none})':" >&2; then
    echo "build: the warnings above are errors here" >&2
    exit 1
fi
