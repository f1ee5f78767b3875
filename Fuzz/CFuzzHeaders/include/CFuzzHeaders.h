// Nothing to import: the target only supplies FuzzHeaders_main to the linker.
