internal import Foundation

/// File descriptors for parallel uploads. An upload that cannot open its file, its lock or its connection would fail in the
/// middle of a run.
struct DescriptorBudget: Sendable {
    /// The soft limit is not raised beyond this: child processes inherit it.
    static let highestLimit: rlim_t = 4096
    /// Descriptors of a run besides its uploads: databases, connections for queries, host names and certificates.
    static let baseCount = 16
    /// Descriptors of an upload without parallel uploads: file, locks, rescue log, connection.
    static let singleCount = 6
    /// Descriptors of each parallel upload, including uploads that wait for their tokens while the next files are sent.
    static let parallelCount = 15
    /// Descriptors of a part of a tus upload: connection and file.
    static let partCount = 3

    /// The soft limit.
    var limit: Int
    /// Number of free descriptors.
    var free: Int

    /// Raises the soft limit as far as allowed, and counts the free descriptors.
    static func raised() -> DescriptorBudget {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return DescriptorBudget(limit: 1024, free: 1024) }
        let wanted = min(limit.rlim_max, highestLimit)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = wanted
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        let count = Int(clamping: limit.rlim_cur)
        // Listing the directory uses one itself.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return DescriptorBudget(limit: count, free: count - max(0, names.count - 1))
    }

    /// Number of descriptors that parallel uploads require.
    static func need(jobs: Int, parts: Int) -> Int {
        let each = jobs == 1 ? singleCount : parallelCount
        return baseCount + jobs * (each + (parts - 1) * partCount)
    }

    /// The number of parallel uploads for which the descriptors suffice.
    ///
    /// - Parameters:
    ///   - wanted: The requested number.
    ///   - parts: Parallel parts of each upload.
    /// - Returns: At most `wanted`.
    /// - Throws: `Diagnosis` if they do not suffice for one upload.
    func jobs(wanted: Int, parts: Int) throws(Diagnosis) -> Int {
        for jobs in stride(from: wanted, through: 1, by: -1) where Self.need(jobs: jobs, parts: parts) <= free {
            return jobs
        }
        throw Diagnosis(
            "resources_exhausted",
            "not enough file descriptors for an upload: \(max(0, free)) of \(limit) are free, "
                + "\(Self.need(jobs: 1, parts: parts)) are required",
            hint: "raise the limit with: ulimit -n 1024",
            exitCode: .failure
        )
    }
}

extension Console {
    /// The number of parallel uploads of a command, with a note if it is reduced.
    ///
    /// - Parameters:
    ///   - wanted: The requested number.
    ///   - parts: Parallel parts of each upload.
    /// - Returns: At most `wanted`.
    /// - Throws: `Diagnosis` if not even one upload is possible.
    func affordableJobs(_ wanted: Int, parts: Int) throws(Diagnosis) -> Int {
        let budget = DescriptorBudget.raised()
        let jobs = try budget.jobs(wanted: wanted, parts: parts)
        if jobs < wanted {
            note(
                "not enough file descriptors for \(wanted) parallel uploads (ulimit -n \(budget.limit)); "
                    + "using --jobs \(jobs)"
            )
        }
        return jobs
    }
}
