import MediaFiles
import Testing

@Suite struct ShardTests {
    static let texts: [(text: String, index: Int?, count: Int?)] = [
        ("0/1", 0, 1), ("0/4", 0, 4), ("3/4", 3, 4), ("007/010", 7, 10),
        ("4/4", nil, nil), ("0/0", nil, nil), ("1", nil, nil), ("", nil, nil), ("/", nil, nil), ("1/", nil, nil),
        ("/4", nil, nil), ("-1/4", nil, nil), ("+1/4", nil, nil), (" 1/4", nil, nil), ("1/4/5", nil, nil),
        ("1 / 4", nil, nil), ("a/b", nil, nil), ("٣/٤", nil, nil), ("1/99999999999999999999", nil, nil),
    ]

    @Test(arguments: texts) func shardsAsText(row: (text: String, index: Int?, count: Int?)) {
        let shard = Shard(row.text)
        #expect(shard?.index == row.index)
        #expect(shard?.count == row.count)
    }

    static let environments: [(environment: [String: String], count: Int?, expected: String?)] = [
        ([:], 4, nil),
        // Kubernetes, "Indexed Job": 0 to completions − 1; the number of completions is not in the environment.
        (["JOB_COMPLETION_INDEX": "2"], 4, "2/4"),
        (["JOB_COMPLETION_INDEX": "2"], nil, nil),
        (["JOB_COMPLETION_INDEX": "4"], 4, nil),
        (["JOB_COMPLETION_INDEX": ""], 4, nil),
        (["JOB_COMPLETION_INDEX": "x", "SLURM_ARRAY_TASK_ID": "1"], 4, nil),
        // Slurm, "Job Array Environment Variables": --array=1-4, 0-3, 0-6:2, 10-18:4.
        (slurm(id: "1", count: "4", min: "1"), nil, "0/4"),
        (slurm(id: "4", count: "4", min: "1"), nil, "3/4"),
        (slurm(id: "0", count: "4", min: "0"), 9, "0/4"),
        (slurm(id: "6", count: "4", min: "0", step: "2"), nil, "3/4"),
        (slurm(id: "14", count: "3", min: "10", step: "4"), nil, "1/3"),
        (slurm(id: "15", count: "3", min: "10", step: "4"), nil, nil),
        (slurm(id: "3", count: "4", min: "0", step: "0"), nil, nil),
        // --array=1,5,6
        (slurm(id: "5", count: "3", min: "1"), nil, nil),
        (slurm(id: "0", count: "3", min: "1"), nil, nil),
        (slurm(id: "x", count: "3", min: "1"), nil, nil),
        (slurm(id: "2", count: "x", min: "1"), 3, nil),
        (["SLURM_ARRAY_TASK_ID": "2"], 3, "2/3"),
        (["SLURM_ARRAY_TASK_ID": "2"], nil, nil),
    ]

    static func slurm(id: String, count: String, min: String, step: String? = nil) -> [String: String] {
        var environment = [
            "SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count, "SLURM_ARRAY_TASK_MIN": min,
        ]
        environment["SLURM_ARRAY_TASK_STEP"] = step
        return environment
    }

    @Test(arguments: environments)
    func schedulers(row: (environment: [String: String], count: Int?, expected: String?)) {
        #expect(Shard(environment: row.environment, count: row.count) == row.expected.flatMap(Shard.init(_:)))
    }

    /// Computed by a Python program from the published constants:
    ///
    ///     def part(path, count):
    ///         x, m = 0xcbf29ce484222325, (1 << 64) - 1
    ///         for byte in path: x = ((x ^ byte) * 0x100000001b3) & m
    ///         x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & m
    ///         x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & m
    ///         return (x ^ (x >> 31)) % count
    static let vectors: [(path: [UInt8], parts: [Int])] = [
        ([], [0, 1, 0, 5, 11, 203]),
        (Array("a".utf8), [0, 0, 1, 3, 8, 736]),
        (Array("a.mp4".utf8), [0, 1, 2, 4, 15, 207]),
        (Array("./a.mp4".utf8), [0, 0, 1, 5, 4, 892]),
        ([0xC3, 0xA4], [0, 1, 0, 5, 13, 517]),
        ([0xFF], [0, 1, 2, 4, 13, 141]),
        (Array("clips/2026/clip-0001.mp4".utf8), [0, 1, 0, 0, 13, 85]),
        (Array("clips/2026/clip-0002.mp4".utf8), [0, 1, 0, 0, 15, 95]),
    ]

    @Test(arguments: vectors) func everyPathHasOneFixedShard(row: (path: [UInt8], parts: [Int])) {
        for (count, part) in zip([1, 2, 3, 7, 16, 1_000], row.parts) {
            let parts = (0..<count).filter { Shard(index: $0, count: count)?.contains(row.path) == true }
            #expect(parts == [part], "of \(count)")
        }
    }

    /// 10,000 names that differ in digits only. The bound is five standard deviations of a uniform choice.
    @Test(arguments: [2, 4, 8, 10, 16, 64, 100], ["clip-%.mp4", "%", "gigs/2026-03-%/a.mov"])
    func shardsAreEven(count: Int, form: String) {
        var sizes = [Int](repeating: 0, count: count)
        let shards = (0..<count).compactMap { Shard(index: $0, count: count) }
        for number in 0..<10_000 {
            let path = Array(
                form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(number)").utf8
            )
            for shard in shards where shard.contains(path) { sizes[shard.index] += 1 }
        }
        let fair = 10_000 / Double(count)
        let bound = 5 * (fair * (1 - 1 / Double(count))).squareRoot()
        #expect(sizes.reduce(0, +) == 10_000)
        #expect(sizes.allSatisfy { abs(Double($0) - fair) < bound }, "\(sizes)")
    }
}
