public import Foundation

/// What a server offers (`OPTIONS`).
public struct TusFeatures: Sendable, Equatable {
    /// Extensions of tus 1.0.0.
    public enum Extension: String, Sendable, CaseIterable {
        /// Uploads are made with `POST`.
        case creation
        /// The `POST` may carry the first bytes.
        case creationWithUpload = "creation-with-upload"
        /// The length may be told later.
        case creationDeferLength = "creation-defer-length"
        /// Unfinished uploads end; `Upload-Expires` says when.
        case expiration
        /// `Upload-Checksum` with a request.
        case checksum
        /// `Upload-Checksum` after the body.
        case checksumTrailer = "checksum-trailer"
        /// `DELETE` gives an upload up.
        case termination
        /// Uploads can be put together to one.
        case concatenation
        /// They may be put together before they are complete.
        case concatenationUnfinished = "concatenation-unfinished"
    }

    /// What `Upload-Offset` counts.
    public enum OffsetUnit: Sendable {
        /// The bytes that the server has, as tus 1.0.0 says.
        case bytes
        /// Chunks of the size of the first one: all chunks but the last must have this size, and 20 MiB at most (gighive-d4
        /// contract 4.2 and 4.3).
        case chunks
    }

    /// `Tus-Version`, in the server's order.
    public var versions: [String]
    /// `Tus-Extension`; unknown ones are left out.
    public var extensions: Set<Extension>
    /// `Tus-Max-Size` in bytes; nil when not sent.
    public var maximumBytes: Int64?
    /// `Tus-Checksum-Algorithm`.
    public var checksumAlgorithms: [String]

    /// Makes a set of features.
    package init(
        versions: [String] = ["1.0.0"],
        extensions: Set<Extension> = [],
        maximumBytes: Int64? = nil,
        checksumAlgorithms: [String] = []
    ) {
        self.versions = versions
        self.extensions = extensions
        self.maximumBytes = maximumBytes
        self.checksumAlgorithms = checksumAlgorithms
    }
}

extension TusFeatures {
    /// What `Upload-Offset` counts: chunks on a server that has a size limit and cannot delete uploads (gighive-d4 contract
    /// section 1).
    public var offsetUnit: OffsetUnit {
        extensions.contains(.creation) && !extensions.contains(.termination) && maximumBytes != nil ? .chunks : .bytes
    }
}

/// A created upload.
public struct TusCreation: Sendable, Equatable {
    /// Last segment of `Location`.
    public var id: String
    /// `Upload-Expires`, where offered.
    public var expiresAt: Date?

    /// Makes a creation.
    package init(id: String, expiresAt: Date? = nil) {
        self.id = id
        self.expiresAt = expiresAt
    }
}

/// How far an upload has got (`HEAD`).
public struct TusStatus: Sendable, Equatable {
    /// `Upload-Offset` in bytes.
    public var offset: Int64
    /// `Upload-Length` in bytes; nil while deferred.
    public var byteCount: Int64?
    /// `Upload-Expires`, where offered.
    public var expiresAt: Date?

    /// Makes a status.
    package init(offset: Int64, byteCount: Int64?, expiresAt: Date? = nil) {
        self.offset = offset
        self.byteCount = byteCount
        self.expiresAt = expiresAt
    }
}
