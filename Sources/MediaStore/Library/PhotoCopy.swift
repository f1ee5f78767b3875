import Foundation
import GRDB
public import MediaSystem

/// A local file that is a copy of a photo on a server.
public struct PhotoCopy: Sendable, Equatable {
    /// The state of a copy.
    public enum State: String, Sendable, CaseIterable, Codable {
        /// The name is reserved for an unfinished download.
        case planned
        /// Downloaded and verified under the temporary name; about to be renamed.
        case written
        /// Stored under its own name.
        case present
        /// Downloaded, but not verified: the file is stored under `temporaryName`, not under `path`.
        case unverified
        /// The file at `path` has changed, and is now a copy of a different photo. `sha256` is the digest of the bytes
        /// that this photo had there.
        case replaced
    }

    /// The source of a copy.
    public enum Source: String, Sendable, CaseIterable, Codable {
        /// Downloaded from the server.
        case downloaded
        /// The file was uploaded, or was found to be on the server already.
        case pushed
    }

    /// Address of the server.
    public var server: String
    /// The photo's ID on the server.
    public var photoID: String
    /// Absolute path, as bytes.
    public var path: [UInt8]
    /// Name of the temporary file next to `path`, for a copy that is not `present`.
    public var temporaryName: String?
    public var state: State
    public var source: Source
    /// SHA-256 of the local bytes, 64 lowercase hexadecimal characters; nil until the download is complete, unless the
    /// name is that of a missing copy: then that copy's digest. A server rewrites files, so this may differ from
    /// `serverSHA256` (photosync contract section 6).
    public var sha256: String?
    /// SHA-256 of the photo as reported by the server.
    public var serverSHA256: String
    /// The local file when it was last known to have these bytes.
    public var identity: FileIdentity? {
        get { storedIdentity }
        set { storedIdentity = newValue }
    }
    /// The server's description of the file when its download began, for resuming: `Last-Modified` and the full length.
    public var lastModified: String?
    /// Length of the server's file in bytes, as reported for the download.
    public var totalBytes: Int64?

    var device: Int64?
    var inode: Int64?
    var fileSize: Int64?
    var modifiedNanoseconds: Int64?
    var changedNanoseconds: Int64?

    public init(
        server: String,
        photoID: String,
        path: [UInt8],
        temporaryName: String? = nil,
        state: State,
        source: Source,
        sha256: String? = nil,
        serverSHA256: String,
        identity: FileIdentity? = nil,
        lastModified: String? = nil,
        totalBytes: Int64? = nil
    ) {
        self.server = server
        self.photoID = photoID
        self.path = path
        self.temporaryName = temporaryName
        self.state = state
        self.source = source
        self.sha256 = sha256
        self.serverSHA256 = serverSHA256
        self.lastModified = lastModified
        self.totalBytes = totalBytes
        self.identity = identity
    }
}

extension PhotoCopy: Storable, IdentityColumns {
    static let table = "photo_copies"

    private enum CodingKeys: String, CodingKey {
        case server, path, state, source, sha256, device, inode
        case photoID = "photo_id"
        case temporaryName = "temporary_name"
        case serverSHA256 = "server_sha256"
        case fileSize = "file_size"
        case modifiedNanoseconds = "modified_ns"
        case changedNanoseconds = "changed_ns"
        case lastModified = "last_modified"
        case totalBytes = "total_bytes"
    }
}

extension LibraryStore {
    /// The copies of these photos on this machine, in no particular order.
    public func copies(ofPhotos ids: [String], server: String) throws(StoreError) -> [PhotoCopy] {
        try values(where: "photo_id = ? AND server = ?", ids, server)
    }

    /// The copies whose local digest is one of these (64 lowercase hexadecimal characters).
    public func copies(withDigests digests: [String], server: String) throws(StoreError) -> [PhotoCopy] {
        try values(where: "sha256 = ? AND server = ?", digests, server)
    }

    /// The copies that are at these paths, or will be.
    public func copies(at paths: [[UInt8]], server: String) throws(StoreError) -> [PhotoCopy] {
        try values(where: "path = ? AND server = ?", paths.map { Data($0) }, server)
    }

    /// Calls `body` with the copies of a server's photos, by path, in blocks of up to 500. A copy that is stored in the
    /// meantime may be missed.
    ///
    /// - Parameters:
    ///   - server: Address of the server.
    ///   - directory: Absolute path of the directory with the copies, as bytes; nil for all directories.
    ///   - state: The state of the copies; nil for all states.
    ///   - body: Receives each block.
    /// - Throws: `StoreError`, and errors thrown by `body`.
    public func forEachBlockOfCopies(
        of server: String,
        below directory: [UInt8]? = nil,
        in state: PhotoCopy.State? = nil,
        _ body: ([PhotoCopy]) throws -> Void
    ) throws {
        let slash = UInt8(ascii: "/")
        let prefix = directory.map { $0.last == slash ? $0 : $0 + [slash] } ?? []
        var last: (path: Data, photoID: String) = (Data(prefix), "")
        while true {
            let block = try connection.readBeside { db in
                try Stored<PhotoCopy>.values(
                    db,
                    where: """
                        server = ? AND (path, photo_id) > (?, ?) AND state = coalesce(?, state)
                        ORDER BY path, photo_id LIMIT 500
                        """,
                    [server, last.path, last.photoID, state?.rawValue]
                )
            }
            let copies = Array(block.prefix { $0.path.starts(with: prefix) })
            guard let end = copies.last else { return }
            last = (Data(end.path), end.photoID)
            try body(copies)
        }
    }

    /// Stores copies, each replacing an earlier one of the same photo and path. Concurrent callers share one commit.
    /// Canceling the task does not stop it.
    ///
    /// - Throws: `StoreError`, only for this call's own copies.
    public func keep(_ copies: [PhotoCopy]) async throws(StoreError) {
        guard !copies.isEmpty else { return }
        try await commits.commit { db in
            for copy in copies { try Stored(copy).upsert(db) }
        }
    }

    /// Removes the records of copies, by photo and path; the files are kept.
    public func remove(_ copies: [PhotoCopy]) throws(StoreError) {
        guard !copies.isEmpty else { return }
        try connection.write { db in
            for copy in copies { try Stored(copy).delete(db) }
        }
    }
}
