#!/usr/bin/env bash
# Checks not covered by `swift format lint`: shell syntax, constructs that must not reach a user, imports, phrases,
# frozen files, docs/json.md.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
complain() {
    echo "lint: $1" >&2
    failed=1
}

while IFS= read -r script; do
    bash -n "$script" || complain "$script: shell syntax"
    [ -x "$script" ] || complain "$script: not executable"
done < <(git ls-files --cached --others --exclude-standard | grep -E '\.sh$|^\.ci/run$')

if grep -rnE 'try!|fatalError\(' Sources Sandbox/Sources --include='*.swift' >&2; then
    complain "the lines above can crash the process"
fi
if grep -rnE '(^|[^a-zA-Z_.])(print|exit)\(' Sources --include='*.swift' |
    grep -vE '^Sources/(MediaCLI|mediactl)/|///|//' >&2; then
    complain "only the command line prints or exits"
fi
scripts/check-imports.py || failed=1
scripts/check-comments.py || failed=1
scripts/check-once.py || failed=1
scripts/check-phrases.py || failed=1
scripts/check-frozen.sh || failed=1
scripts/json-docs.py --check || failed=1
while read -r lines file; do
    complain "$file: $lines lines; above 600, a file usually has more than one subject"
done < <(find Sources Sandbox/Sources Tests -name '*.swift' -print0 | xargs -0 wc -l | awk '$2 != "total" && $1 > 600')
exit $failed
