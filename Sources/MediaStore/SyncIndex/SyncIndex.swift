public import Foundation

/// `index.sqlite`: what the photo servers said they have. It can be built anew from them, so a corrupt one is set aside
/// and replaced, with a warning. Safe for many processes and tasks at once.
///
/// A change is durable against the death of the process when a method returns, not against a power cut
/// (`synchronous=NORMAL`): the next run then repeats some pages.
public final class SyncIndex: Sendable {
    /// What was put right while opening.
    public let warnings: [String]

    /// Opens or creates the index.
    ///
    /// - Throws: `StoreError`: `.newerVersion` for one of a later mediactl, which is left as it is.
    public init(in directory: DataDirectory) throws(StoreError) {
        throw StoreError(.other, path: directory.path)
    }

    // MARK: State

    /// What is known of a server; nil when it was never synchronised.
    public func state(of server: String) throws(StoreError) -> SyncState? { nil }

    /// Photos by origin, without those that are gone.
    ///
    /// - Parameter device: The id of this machine's device; nil when it has none, and all devices are others.
    public func counts(of server: String, device: String?) throws(StoreError) -> PhotoCounts { PhotoCounts() }

    /// Forgets all that is known of a server.
    public func forget(_ server: String) throws(StoreError) {}

    // MARK: Writing

    /// Begins a run, or goes on with the one that did not end when it is of the same kind and account and has a cursor.
    ///
    /// - Parameters:
    ///   - server: Address of the server, the key of everything here.
    ///   - account: What tells one user of the server from another (the device id); rows of another account are removed.
    ///   - kind: What the run asks for.
    ///   - restarts: Whether an unfinished run is thrown away.
    ///   - now: The time of this machine.
    public func begin(
        _ server: String,
        account: String,
        kind: SyncRun.Kind,
        restarts: Bool,
        now: Date
    ) throws(StoreError) -> SyncRun { throw StoreError(.other, path: server) }

    /// Stores a page and the cursor behind it, in one transaction.
    ///
    /// - Parameters:
    ///   - photos: The page. A photo that the run has stored already is updated and counts once.
    ///   - cursor: Where the next page begins; nil after the last one.
    ///   - totalCount: What the server says it has in all.
    /// - Returns: The run as it stands then.
    /// - Throws: `StoreError`: `.busy` when another process has begun a run for this server since (its run goes on).
    public func append(
        _ photos: [PhotoRecord],
        cursor: String?,
        totalCount: Int64,
        to run: SyncRun
    ) throws(StoreError) -> SyncRun { run }

    /// Records that a run has seen everything. A full run marks the rows that it did not see as gone.
    ///
    /// - Returns: What changed.
    public func finish(_ run: SyncRun, now: Date) throws(StoreError) -> SyncChanges { SyncChanges() }

    // MARK: Reading

    /// Calls `body` with the photos that match, oldest upload first (by time, then id), a block at a time, so that memory
    /// stays flat. Writers are not held up.
    ///
    /// - Parameters:
    ///   - filter: Which ones.
    ///   - body: Takes up to 500 photos; what it throws ends the reading and is rethrown.
    public func forEachBlock(
        of server: String,
        where filter: PhotoFilter,
        _ body: ([PhotoRecord]) throws -> Void
    ) throws {}

    /// The photos with these ids that are not gone, in no particular order.
    public func photos(_ ids: [String], of server: String) throws(StoreError) -> [PhotoRecord] { [] }

    /// The photos with these SHA-256 digests (64 lower-case hexadecimal characters) that are not gone.
    public func photos(withDigests digests: [String], of server: String) throws(StoreError) -> [PhotoRecord] { [] }

    /// Records that photos belong to a device now, as claiming them has told.
    public func setOrigin(_ device: PhotoDevice, ofPhotos ids: [String], server: String) throws(StoreError) {}
}

/// One run through a server's listing, as it stands in the index.
public struct SyncRun: Sendable, Equatable {
    /// What a run asks for.
    public enum Kind: Sendable, Equatable {
        /// Everything. Finds deletions and changed origins.
        case full
        /// What was uploaded at or after a time, inclusive (photosync contract section 5: `sinceTimestamp`).
        case since(PhotoTime)
    }

    /// Number of the run; a later one is larger.
    public var number: Int64
    /// Address of the server.
    public var server: String
    /// What it asks for.
    public var kind: Kind
    /// Where the next page begins; nil at the start, and when `isAtEnd`.
    public var cursor: String?
    /// Whether the last page has been stored.
    public var isAtEnd: Bool
    /// Whether an earlier process has stored pages of it.
    public var isResumed: Bool
    /// Distinct photos that it has stored.
    public var photosSeen: Int64
    /// Pages that it has stored.
    public var pagesSeen: Int64
    /// The server's last `totalCount`.
    public var totalCount: Int64

    /// Makes a run.
    public init(
        number: Int64,
        server: String,
        kind: Kind,
        cursor: String? = nil,
        isAtEnd: Bool = false,
        isResumed: Bool = false,
        photosSeen: Int64 = 0,
        pagesSeen: Int64 = 0,
        totalCount: Int64 = 0
    ) {
        self.number = number
        self.server = server
        self.kind = kind
        self.cursor = cursor
        self.isAtEnd = isAtEnd
        self.isResumed = isResumed
        self.photosSeen = photosSeen
        self.pagesSeen = pagesSeen
        self.totalCount = totalCount
    }
}

/// What is known of a server's photos.
public struct SyncState: Sendable, Equatable {
    /// Whose photos they are (the `account` of `SyncIndex.begin`).
    public var account: String
    /// When a run, of either kind, last came to its end; nil when none has.
    public var lastCompleteAt: Date?
    /// When a full run last came to its end.
    public var lastFullAt: Date?
    /// Whether a run has begun and not come to its end.
    public var hasUnfinishedRun: Bool
    /// The latest `uploadedAt` that a complete run has seen; the next incremental run begins before it.
    public var watermark: PhotoTime?
    /// The server's last `totalCount`.
    public var totalCount: Int64

    /// Makes a state.
    public init(
        account: String,
        lastCompleteAt: Date? = nil,
        lastFullAt: Date? = nil,
        hasUnfinishedRun: Bool = false,
        watermark: PhotoTime? = nil,
        totalCount: Int64 = 0
    ) {
        self.account = account
        self.lastCompleteAt = lastCompleteAt
        self.lastFullAt = lastFullAt
        self.hasUnfinishedRun = hasUnfinishedRun
        self.watermark = watermark
        self.totalCount = totalCount
    }
}

/// Photos of a server by origin.
public struct PhotoCounts: Sendable, Equatable {
    /// From this machine's device.
    public var thisDevice: Int64 = 0
    /// From other devices.
    public var otherDevices: Int64 = 0
    /// From no device.
    public var legacy: Int64 = 0
    /// No longer on the server, as far as a full run could tell; not in `total`.
    public var gone: Int64 = 0
    /// All that are there.
    public var total: Int64 { thisDevice + otherDevices + legacy }

    /// Makes counts of zero.
    public init() {}
}

/// What a run changed in the index.
public struct SyncChanges: Sendable, Equatable {
    /// Photos that were not known before.
    public var added: Int64 = 0
    /// Photos that were known and are told differently now.
    public var changed: Int64 = 0
    /// Photos that a full run did not see any more.
    public var gone: Int64 = 0

    /// Makes changes of none.
    public init() {}
}

/// Which photos are wanted.
public struct PhotoFilter: Sendable, Equatable {
    /// Origin of a photo.
    public enum Origin: Sendable, Equatable {
        /// Any.
        case any
        /// One device.
        case device(String)
        /// Any device but this one; all devices when nil.
        case otherThan(String?)
        /// No device.
        case legacy
    }

    /// The origin.
    public var origin: Origin
    /// Only those uploaded at or after this time.
    public var uploadedSince: PhotoTime?
    /// Only those that are gone, instead of those that are there.
    public var isGone: Bool

    /// Makes a filter; by default everything that is there.
    public init(origin: Origin = .any, uploadedSince: PhotoTime? = nil, isGone: Bool = false) {
        self.origin = origin
        self.uploadedSince = uploadedSince
        self.isGone = isGone
    }
}
