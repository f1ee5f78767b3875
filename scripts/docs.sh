#!/usr/bin/env bash
# Builds the library documentation (DocC) from the modules exported by MediaKit. Fails on any DocC warning, such as a
# broken link, and on a public type, function or operator without a comment.
#
#   scripts/docs.sh [DIRECTORY]      default: dist/docs
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-dist/docs}
# Uses the modules of the test build, so that nothing is built twice.
build=.build-test
graphs=$build/symbol-graphs
scripts/build.sh --build-tests
bin=$build/release

# The C modules that Swift needs to load the modules again.
maps=()
for map in "$bin"/C*.build/module.modulemap Sources/C*/module.modulemap \
    $build/checkouts/{GRDB.swift/Sources/GRDBSQLite,swift-system/Sources/CSystem/include,swift-subprocess/Sources/_SubprocessCShims/include}/module.modulemap; do
    [ -e "Sources/$(basename "$(dirname "$map")" .build)" ] || [[ $map == $build/checkouts/* ]] || continue
    maps+=(-Xcc "-fmodule-map-file=$map")
done

target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
rm -rf "$graphs"
mkdir -p "$graphs"
for module in MediaKit $(sed -n 's/^@_exported public import //p' Sources/MediaKit/MediaKit.swift); do
    swift symbolgraph-extract -module-name "$module" -target "$target" -I "$bin/Modules" "${maps[@]}" \
        -minimum-access-level public -skip-synthesized-members -emit-extension-block-symbols -output-dir "$graphs"
done

python3 - "$graphs" <<'PYTHON'
import json, pathlib, sys

# Excluded: synthesized operators, and extensions, whose members are documented individually.
def is_ours(symbol):
    return "::SYNTHESIZED::" not in symbol["identifier"]["precise"] and symbol["kind"]["identifier"] != "swift.extension"

# Comments on other kinds might only repeat the name, which scripts/check-comments.py refuses.
def needs_comment(symbol):
    return symbol["kind"]["identifier"] not in ("swift.init", "swift.property", "swift.type.property", "swift.enum.case")

bare = []
count = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.symbols.json")):
    for symbol in filter(is_ours, json.loads(path.read_text())["symbols"]):
        count += 1
        if needs_comment(symbol) and not any(line["text"].strip() for line in symbol.get("docComment", {}).get("lines", [])):
            bare.append(f"{path.name.removesuffix('.symbols.json')}: {'.'.join(symbol['pathComponents'])}")
if bare or count < 1000:
    sys.exit("docs: without a comment:\n" + "\n".join(bare) if bare else f"docs: only {count} symbols found")
print(f"docs: {count} public symbols; each type, function and operator has a comment")
PYTHON

rm -rf "$output"
mkdir -p "$(dirname "$output")"
docc convert Sources/MediaKit/MediaKit.docc --additional-symbol-graph-dir "$graphs" --output-dir "$output" \
    --fallback-bundle-identifier mediactl.MediaKit --warnings-as-errors
echo "docs: pages in $output; they are served from the root of a web server"
