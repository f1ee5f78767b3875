#!/usr/bin/env bash
# Fails if a relative link in a document is broken (no such file, or no such heading in it), or if a document cannot be
# reached from README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
complain() {
    echo "docs: $1" >&2
    failed=1
}

# The anchors of a document's headings.
anchors() {
    sed -nE '/^```/,/^```/d; s/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

declare -A links=() # document -> the documents that it links to
while IFS= read -r document; do
    while IFS= read -r target; do
        path=${target%%#*} anchor=
        case $target in *#*) anchor=${target#*#} ;; esac
        case $path in *://* | mailto:*) continue ;; esac
        path=${path:+$(dirname "$document")/$path}
        path=$(realpath -m --relative-to=. "${path:-$document}")
        if [ ! -e "$path" ]; then
            complain "$document: no such file: $target"
            continue
        fi
        if [ -n "$anchor" ] && [ "${path##*.}" = md ] && ! anchors "$path" | grep -qxF -- "$anchor"; then
            complain "$document: no such heading: $target"
        fi
        links[$document]+="$path"$'\n'
    done < <(grep -oE '\]\([^) ]+\)' "$document" | sed -E 's/^\]\((.*)\)$/\1/')
done < <(git ls-files --cached --others --exclude-standard '*.md')

declare -A reached=()
waiting=(README.md)
while [ ${#waiting[@]} -gt 0 ]; do
    document=${waiting[0]}
    waiting=("${waiting[@]:1}")
    [ -z "${reached[$document]:-}" ] || continue
    reached[$document]=yes
    while IFS= read -r path; do
        if [ -d "$path" ]; then
            waiting+=("$path"/*.md)
        elif [ "${path##*.}" = md ]; then
            waiting+=("$path")
        fi
    done <<<"${links[$document]:-}"
done
for document in $(git ls-files --cached --others --exclude-standard 'docs/*.md'); do
    [ -n "${reached[$document]:-}" ] || complain "$document cannot be reached from README.md"
done
exit $failed
