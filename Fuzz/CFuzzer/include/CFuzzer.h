// Nothing to call: this target exists for its `Fuzzer_main`.
