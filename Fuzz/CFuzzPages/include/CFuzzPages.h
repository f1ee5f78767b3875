// Nothing to import: the target only supplies FuzzPages_main to the linker.
