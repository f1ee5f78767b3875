#!/usr/bin/env bash
# Prints the version of mediactl, which is defined in one place in the sources.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^ *static let version = "\([0-9][0-9A-Za-z.+~-]*\)"$/\1/p' Sources/MediaCLI/MediactlCommand.swift)
[ -n "$version" ] || {
    echo "version: not found in Sources/MediaCLI/MediactlCommand.swift" >&2
    exit 1
}
echo "$version"
