#!/usr/bin/env bash
# Builds the programs of the benchmark and runs it: Benchmarks/run.sh [--full] [--pairs N]
# Requires a release binary in dist/mediactl (`make release`). All generated files are in Benchmarks/work.
set -euo pipefail
cd "$(dirname "$0")/.."

work=Benchmarks/work
mkdir -p "$work"
compiler=$(command -v clang || command -v cc)
"$compiler" -O2 -Wall -Wextra -pthread -o "$work/sink" Benchmarks/sink/sink.c
"$compiler" -O2 -Wall -Wextra -pthread -o "$work/photos" Benchmarks/sink/photos.c
"$compiler" -O2 -Wall -Wextra -o "$work/measure" Benchmarks/sink/measure.c
"$compiler" -O2 -Wall -Wextra -o "$work/floor" Benchmarks/sink/floor.c $(pkg-config --cflags --libs libcurl sqlite3)
"$compiler" -O2 -Wall -Wextra -pthread -o "$work/batch" Benchmarks/sink/batch.c \
    $(pkg-config --cflags --libs libcurl sqlite3 libcrypto)

flags=(-c release --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
export MEDIACTL_BENCHMARKS=1
swift build --product mediactl-sandbox
for program in transport-bench depth-bench; do
    swift build "${flags[@]}" --product "$program"
    cp "$(swift build "${flags[@]}" --show-bin-path)/$program" "$work/"
done

exec python3 Benchmarks/benchmark.py "$@"
