#!/usr/bin/env bash
# scripts/generate-manual.sh DIR: writes manual pages (DIR/man) and shell completions (DIR/completions) from the
# commands of the built DIR/mediactl.
set -euo pipefail
cd "$(dirname "$0")/.."

directory=${1:?usage: scripts/generate-manual.sh DIR}
mkdir -p "$directory/man" "$directory/completions"

"$directory/mediactl" --generate-completion-script bash >"$directory/completions/mediactl.bash"
"$directory/mediactl" --generate-completion-script zsh >"$directory/completions/_mediactl"
"$directory/mediactl" --generate-completion-script fish >"$directory/completions/mediactl.fish"

swift package plugin generate-manual --multi-page
rm -f "$directory"/man/*.1
cp .build/plugins/GenerateManual/outputs/mediactl/*.1 "$directory/man/"
