internal import MediaFiles
internal import MediaSystem

/// What a push has to deal with.
struct PushPlan: Sendable {
    /// Files to hash, each path once.
    var candidates: [PushCandidate] = []
    /// What needs no further look.
    var ended: [PushItem] = []

    /// Looks at the paths, and walks directories, on a thread that may wait.
    static func make(_ paths: [[UInt8]], options: Push.Options) async -> PushPlan {
        await BlockingWork.run {
            var plan = PushPlan()
            var walked: Set<[UInt8]> = []
            for path in paths where walked.insert(path).inserted { plan.add(path, options) }
            plan.removeRepeats(isNeeded: walked.count > 1)
            return plan
        }
    }

    private mutating func add(_ path: [UInt8], _ options: Push.Options) {
        guard FileWalk.isDirectory(path) else {
            add(PushCandidate(path: path, isNamed: true), byteCount: nil, options)
            return
        }
        guard options.isRecursive else {
            ended.append(
                PushItem(
                    path: path,
                    state: .failed,
                    error: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: path)
                )
            )
            return
        }
        let found = FileWalk(filter: options.filter).files(below: path)
        for file in found.files {
            add(PushCandidate(path: file.path, isNamed: false), byteCount: file.byteCount, options)
        }
        for skipped in found.skipped {
            let error = PhotoSyncError(.fileUnreadable, detail: skipped.reason, path: skipped.path)
            ended.append(PushItem(path: skipped.path, state: .failed, error: error))
        }
    }

    private mutating func add(_ candidate: PushCandidate, byteCount: Int64?, _ options: Push.Options) {
        let byteCount = byteCount ?? FileIdentity(ofRegularFile: candidate.path)?.size
        // A file that cannot be looked at has another fault than its name.
        let byName = candidate.isNamed && byteCount == nil ? nil : candidate.objection
        let bySize = byteCount.flatMap { candidate.objection(toBytes: $0, maximum: options.maximumBytes) }
        if let objection = byName ?? bySize {
            ended.append(candidate.refused(objection, sizeBytes: byteCount))
        } else {
            candidates.append(candidate)
        }
    }

    /// A file that is named, and found again below a directory that is named too, is one file.
    private mutating func removeRepeats(isNeeded: Bool) {
        guard isNeeded else { return }
        var seen: Set<[UInt8]> = []
        candidates = candidates.filter { seen.insert($0.path).inserted }
    }
}
