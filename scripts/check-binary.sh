#!/usr/bin/env bash
# scripts/check-binary.sh BINARY: fails unless a release binary is hardened: position-independent, full RELRO,
# non-executable stack, and no RPATH or RUNPATH, through which a planted library could be loaded.
set -euo pipefail

binary=${1:?usage: scripts/check-binary.sh BINARY}
failed=0
complain() {
    echo "check-binary: $binary: $1" >&2
    failed=1
}

export LC_ALL=C
header=$(readelf --wide --file-header "$binary")
segments=$(readelf --wide --program-headers "$binary")
dynamic=$(readelf --wide --dynamic "$binary")
grep -qE 'Type: +DYN' <<<"$header" || complain "not position-independent"
grep -qE 'GNU_RELRO' <<<"$segments" || complain "no RELRO segment"
grep -qE '(BIND_NOW|FLAGS_1\).*NOW)' <<<"$dynamic" || complain "functions are bound lazily: RELRO is not full"
grep -qE 'GNU_STACK.* RW +0' <<<"$segments" || complain "the stack is executable"
! grep -qE '\((RPATH|RUNPATH)\)' <<<"$dynamic" || complain "has an RPATH or RUNPATH"
! grep -qE '\(TEXTREL\)' <<<"$dynamic" || complain "has text relocations"
exit $failed
