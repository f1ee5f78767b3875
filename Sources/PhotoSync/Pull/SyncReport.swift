public import MediaStore

/// What `sync status` tells: the index, the server, and how they fit.
public struct SyncReport: Sendable {
    /// Whether uploads of the server belong to whoever sent them (photosync contract 3.5).
    public enum Ownership: String, Sendable {
        /// An upload from here was seen in the user's own listing.
        case owned
        /// An upload from here was not: the server has the defect of the published build.
        case ownerless
        /// Nothing was ever uploaded from here.
        case unknown
    }

    /// The server's health; nil when it could not be asked.
    public var health: ServerHealth?
    /// The server's own counts; nil when it could not be asked.
    public var status: SyncStatus?
    /// Why the server could not be asked.
    public var failure: PhotoSyncError?
    /// What the index knows; nil before the first pull, and when it has another user's photos.
    public var state: SyncState?
    /// The index's counts.
    public var counts: PhotoCounts
    /// Whether the server shows the ownership defect.
    public var ownership: Ownership

    /// Asks server and index. Never throws for a server that does not answer; that is part of the report.
    ///
    /// - Throws: `PhotoSyncError` `.storeUnusable` only.
    public static func make(of account: SyncAccount) async throws(PhotoSyncError) -> SyncReport {
        async let health = Result.awaiting { () async throws(PhotoSyncError) in try await account.client.health() }
        async let status = Result.awaiting { () async throws(PhotoSyncError) in
            try await account.client.status(device: account.deviceID)
        }
        let (state, counts, ownsUploads) = try await StoreQueue().run {
            let state = try account.state()
            return (
                state,
                state == nil ? PhotoCounts() : try account.index.counts(of: account.server, device: account.deviceID),
                try account.index.ownsUploads(at: account.server)
            )
        }
        let (healthAnswer, statusAnswer) = await (health, status)
        return SyncReport(
            health: try? healthAnswer.get(),
            status: try? statusAnswer.get(),
            failure: statusAnswer.failure ?? healthAnswer.failure,
            state: state,
            counts: counts,
            ownership: ownsUploads.map { $0 ? .owned : .ownerless } ?? .unknown
        )
    }

    /// Whether a pull has something to bring: the server's own counts are others than the index's. What was deleted or
    /// claimed elsewhere comes with a full one only.
    public var advisesPull: Bool {
        guard let status, state?.lastCompleteAt != nil else { return false }
        return status.differs(from: counts)
    }

    /// Makes a report.
    package init(
        health: ServerHealth?,
        status: SyncStatus?,
        failure: PhotoSyncError?,
        state: SyncState?,
        counts: PhotoCounts,
        ownership: Ownership
    ) {
        self.health = health
        self.status = status
        self.failure = failure
        self.state = state
        self.counts = counts
        self.ownership = ownership
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
