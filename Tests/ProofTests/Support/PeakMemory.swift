import TestSupport
import Testing

/// The largest resident size of a program.
enum PeakMemory {
    /// Runs a command in a child that uses little memory itself and reports the largest resident size of the
    /// grandchild: the maximum that the kernel keeps for a child also counts the memory of the process that forked it.
    static let wrapper = [
        "/usr/bin/python3", "-c",
        """
        import os, resource, sys
        code = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
        print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        sys.exit(code)
        """,
    ]

    /// KiB, from the output of a program that ran through the wrapper.
    static func kibibytes(_ result: ChildResult) throws -> Int {
        try #require(result.lines.last.flatMap { Int($0.split(separator: " ").last ?? "") })
    }
}
