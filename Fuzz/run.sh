#!/usr/bin/env bash
# Builds the fuzzers (libFuzzer comes with the toolchain) and runs each for SECONDS: Fuzz/run.sh [SECONDS]
#
# New inputs go to .build-fuzz/corpus. An input that breaks something stays there as crash-…; fix the code, then add
# the input to Fuzz/corpus/<fuzzer>/ under a name that says what it is, so that the gate replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
# The backtrace helper of a crashed fuzzer can hang and keep the output open.
export MEDIACTL_FUZZ=1 SWIFT_BACKTRACE=enable=no
export LSAN_OPTIONS=suppressions=Fuzz/leaks.supp:print_suppressions=0
scratch=.build-fuzz

for fuzzer in FuzzReply FuzzHeaders FuzzPages; do
    swift build -c release --scratch-path "$scratch" --product "$fuzzer" \
        -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld
    found=$scratch/corpus/$fuzzer
    mkdir -p "$found"
    timeout $((seconds + 60)) "$scratch/release/$fuzzer" -max_total_time="$seconds" -max_len=65536 \
        -artifact_prefix="$found/" -print_final_stats=1 "$found" "Fuzz/corpus/$fuzzer"
done
