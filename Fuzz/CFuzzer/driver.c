// SwiftPM renames the entry point of an executable to <name>_main; libFuzzer provides the real one.
int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long count);
int LLVMFuzzerRunDriver(
    int *count, char ***arguments, int (*test)(const unsigned char *bytes, unsigned long count));

int Fuzzer_main(int count, char **arguments) {
    return LLVMFuzzerRunDriver(&count, &arguments, LLVMFuzzerTestOneInput);
}
