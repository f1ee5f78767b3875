#!/usr/bin/env bash
# Fails if a frozen file has changed: the stores and requests of 0.1.0, the tests of durability order, failpoints and
# at-most-once, and the conformance vectors. fixtures/frozen.sha256 contains their SHA-256. An intended change requires
# a line in fixtures/frozen-changes.txt: the new SHA-256, the path, and the reason.
set -euo pipefail
cd "$(dirname "$0")/.."

list=fixtures/frozen.sha256
changes=fixtures/frozen-changes.txt
failed=0
while read -r hash path; do
    actual=$([ -f "$path" ] && sha256sum "$path" | cut -d ' ' -f 1 || echo missing)
    [ "$actual" = "$hash" ] && continue
    grep -qE "^$actual  $path  [^ ]" "$changes" && continue
    echo "frozen: $path is $actual; a change needs a line in $changes: $actual  $path  REASON" >&2
    failed=1
done <"$list"
while IFS= read -r path; do
    grep -qF "  $path" "$list" || {
        echo "frozen: $path is not in $list" >&2
        failed=1
    }
done < <(git ls-files --cached --others --exclude-standard fixtures/guard-0.1.0)
exit $failed
