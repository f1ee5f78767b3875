// Nothing to import: the target only supplies FuzzReply_main to the linker.
