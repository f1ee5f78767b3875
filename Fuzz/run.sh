#!/usr/bin/env bash
# Builds the fuzzer (libFuzzer is part of the toolchain) and runs each target for SECONDS, one per core and at most two
# in parallel: Fuzz/run.sh SECONDS [TARGET…]
#
# New inputs are stored in .build-fuzz/corpus, the output in .build-fuzz/TARGET.log. An input that fails is stored there
# as TARGET-crash-…; fix the code, then add the input to Fuzz/corpus/TARGET/ under a descriptive name, so that the tests
# replay it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Fuzz/run.sh SECONDS [TARGET…]}
shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cd Fuzz/corpus && printf '%s\n' *)
# The backtrace helper of a crashed fuzzer can hang and keep the output open.
export MEDIACTL_FUZZ=1 SWIFT_BACKTRACE=enable=no
export LSAN_OPTIONS=suppressions=Fuzz/leaks.supp:print_suppressions=0
# Freed memory is quarantined to detect reuse, but limited so that it does not exceed the memory limit.
export ASAN_OPTIONS=quarantine_size_mb=64
scratch=.build-fuzz

# The parsers are internal to their modules.
swift build -c release --scratch-path "$scratch" --product Fuzzer -Xswiftc -DTESTABLE -Xswiftc -enable-testing \
    -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld

# 64 KiB is enough for every format; 2 GiB in total, or 512 MiB at once, is far more than any of them needs, as are 20 s
# per input. Leaks are checked by the tests under the address sanitizer: checking after each input that fills a cache
# would take twenty times as long as everything else.
fuzz() { # fuzz TARGET
    local found=$scratch/corpus/$1 log=$scratch/$1.log
    mkdir -p "$found"
    local limits=(-max_len=65536 -timeout=20 -malloc_limit_mb=512 -rss_limit_mb=2048 -detect_leaks=0)
    if FUZZ_TARGET=$1 timeout $((seconds + 120)) "$scratch/release/Fuzzer" -max_total_time="$seconds" "${limits[@]}" \
        -artifact_prefix="$scratch/$1-" -print_final_stats=1 \
        "$found" "Fuzz/corpus/$1" >"$log" 2>&1; then
        echo "fuzz: $1: $(awk '/stat::number_of_executed_units/ { print $2 }' "$log") inputs in $seconds s, nothing found"
    else
        tail -40 "$log" >&2
        echo "fuzz: $1 FAILED; see $log" >&2
        return 1
    fi
}

failed=0
wait_for_one() { wait -n || failed=1; }
at_once=$(($(nproc) > 1 ? 2 : 1))
running=0
for target in "${targets[@]}"; do
    if [ "$running" -ge "$at_once" ]; then
        wait_for_one
        running=$((running - 1))
    fi
    fuzz "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait_for_one
    running=$((running - 1))
done
exit $failed
