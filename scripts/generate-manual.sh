#!/usr/bin/env bash
# scripts/generate-manual.sh DIR: generates manual pages (DIR/man) and shell completions (DIR/completions) from the
# commands of the built DIR/mediactl.
set -euo pipefail
cd "$(dirname "$0")/.."

directory=${1:?usage: scripts/generate-manual.sh DIR}
mkdir -p "$directory/man" "$directory/completions"

"$directory/mediactl" --generate-completion-script bash | sed '1{/^#!/d}' >"$directory/completions/mediactl.bash"
"$directory/mediactl" --generate-completion-script zsh >"$directory/completions/_mediactl"
"$directory/mediactl" --generate-completion-script fish >"$directory/completions/mediactl.fish"

# The parser's own tool, run separately: as a plugin of this package, it would first build mediactl again with other
# flags.
tool=(--package-path .build/checkouts/swift-argument-parser --scratch-path .build/manual --product generate-manual)
swift build "${tool[@]}"
# The pages contain the date of the last commit, so that the same sources produce the same pages.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
rm -f "$directory"/man/*.1
"$(swift build "${tool[@]}" --show-bin-path)/generate-manual" "$directory/mediactl" --multi-page \
    --date "$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%d)" --output-directory "$directory/man"

# `man mediactl uploads list` and the indexes of man-db look for the page mediactl-uploads-list, so the name is one
# word. The synopsis shows the command as typed.
for page in "$directory"/man/*.1; do
    words=$(sed -n '/^\.Sh NAME$/{n;s/^\.Nm "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p}' "$page")
    sed -i -e "/^\.Sh NAME\$/{n;s/.*/.Nm ${words// /-}/}" -e "/^\.Sh SYNOPSIS\$/{n;s/^\.Nm\$/.Nm \"$words\"/}" \
        -e '/^\.\(Dt\|Xr\) /s/\./-/2g' -e 's/^$/.Pp/' "$page"
    [ "$page" -ef "$directory/man/${words// /-}.1" ] || mv "$page" "$directory/man/${words// /-}.1"
done
