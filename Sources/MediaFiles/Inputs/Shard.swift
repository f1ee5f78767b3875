internal import MediaCore
internal import MediaSystem

/// One of several disjoint parts of the same inputs, so that many machines share one upload.
///
/// A path belongs to the part `mix(FNV-1a(path)) mod count`, by its bytes as given: `a.mp4` and `./a.mp4` are two paths, so
/// all machines must name the inputs alike. Parts have about the same number of files, whatever the files are called.
package struct Shard: Sendable, Equatable {
    /// Which part, from 0.
    package let index: Int
    /// How many parts.
    package let count: Int

    /// Makes a shard; nil unless 0 ≤ index < count.
    package init?(index: Int, count: Int) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
    }

    /// Reads `I/N`, I from 0 to N−1; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let index = Self.number(parts[0]), let count = Self.number(parts[1]) else { return nil }
        self.init(index: index, count: count)
    }

    /// What a scheduler says: `JOB_COMPLETION_INDEX` with the count given (Kubernetes indexed Job), or
    /// `SLURM_ARRAY_TASK_ID` with `SLURM_ARRAY_TASK_COUNT`, `SLURM_ARRAY_TASK_MIN` and `SLURM_ARRAY_TASK_STEP`.
    ///
    /// Nil when no scheduler is there or what it says makes no sense. The numbers of a Slurm array must follow each other at
    /// one distance (`0-9`, `1-9:2`); a list such as `1,5,6` has tasks that fit no part.
    ///
    /// - Parameters:
    ///   - environment: The process's environment.
    ///   - count: Number of parts where the scheduler does not tell it.
    package init?(environment: [String: String], count: Int?) {
        if let text = environment["JOB_COMPLETION_INDEX"] {
            guard let index = Self.number(text[...]), let count else { return nil }
            self.init(index: index, count: count)
        } else if let text = environment["SLURM_ARRAY_TASK_ID"] {
            guard let id = Self.number(text[...]),
                let first = Self.number(environment["SLURM_ARRAY_TASK_MIN"], default: 0),
                let step = Self.number(environment["SLURM_ARRAY_TASK_STEP"], default: 1),
                let count = Self.number(environment["SLURM_ARRAY_TASK_COUNT"], default: count),
                step > 0, id >= first, (id - first).isMultiple(of: step)
            else { return nil }
            self.init(index: (id - first) / step, count: count)
        } else {
            return nil
        }
    }

    /// Whether an input belongs to this part. The same path belongs to the same part on every machine and in every run,
    /// whatever the other inputs are.
    package func contains(_ path: [UInt8]) -> Bool {
        Self.hash(path) % UInt64(count) == UInt64(index)
    }

    /// 64-bit FNV-1a, and the finalizer of SplitMix64 over it: without that, names that differ in their last digit only would
    /// differ in a few bits only, and fill the parts unevenly.
    private static func hash(_ path: [UInt8]) -> UInt64 {
        var hash = path.fnv1a
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }

    /// Digits only: no sign, no space.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    private static func number(_ text: String?, default absent: Int?) -> Int? {
        guard let text else { return absent }
        return number(text[...])
    }
}
