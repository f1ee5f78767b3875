#!/usr/bin/env bash
# Fails when a relative link in a document leads nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
while IFS= read -r document; do
    while IFS= read -r target; do
        path=${target%%#*}
        case $path in '' | *://* | mailto:*) continue ;; esac
        if [ ! -e "$(dirname "$document")/$path" ]; then
            echo "docs: $document: no such file: $path" >&2
            failed=1
        fi
    done < <(grep -oE '\]\([^) ]+\)' "$document" | sed -E 's/^\]\((.*)\)$/\1/')
done < <(git ls-files --cached --others --exclude-standard '*.md')
exit $failed
