internal import MediaCore

/// One of several disjoint parts of the same inputs, which lets several machines share one upload.
///
/// A path belongs to part `mix(FNV-1a(path)) mod count`, by its bytes as given: `a.mp4` and `./a.mp4` are two paths, so
/// all machines must specify the inputs in the same form. Parts have about the same number of files, whatever the names
/// are.
package struct Shard: Sendable, Equatable {
    /// Zero-based.
    package let index: Int
    package let count: Int

    /// Creates a shard; nil unless 0 ≤ index < count.
    package init?(index: Int, count: Int) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
    }

    /// Parses `I/N`, I from 0 to N−1; nil for other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let index = Self.number(parts[0]), let count = Self.number(parts[1]) else { return nil }
        self.init(index: index, count: count)
    }

    /// Reads a scheduler's variables: `JOB_COMPLETION_INDEX` (Kubernetes indexed Job), with `count`, since Kubernetes
    /// does not provide it; or `SLURM_ARRAY_TASK_ID` with `SLURM_ARRAY_TASK_COUNT`, `SLURM_ARRAY_TASK_MIN` and
    /// `SLURM_ARRAY_TASK_STEP`.
    ///
    /// nil if there is no scheduler, or for invalid values. The numbers of a Slurm array must be evenly spaced (`0-9`,
    /// `1-9:2`); a list such as `1,5,6` has tasks that belong to no part.
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

    /// Whether an input belongs to this part. The result is the same on every machine and in every run, regardless of
    /// the other inputs.
    package func contains(_ path: [UInt8]) -> Bool {
        Self.hash(path) % UInt64(count) == UInt64(index)
    }

    /// 64-bit FNV-1a with the finalizer of SplitMix64: without it, the hashes of names that differ only in their last
    /// digit would differ in few bits, and the parts would be uneven.
    private static func hash(_ path: [UInt8]) -> UInt64 {
        var hash = path.fnv1a
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }

    /// Digits only, without sign or space.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    private static func number(_ text: String?, default absent: Int?) -> Int? {
        guard let text else { return absent }
        return number(text[...])
    }
}
