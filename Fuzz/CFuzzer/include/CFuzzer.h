// Declares nothing: this target exists for its `Fuzzer_main`.
