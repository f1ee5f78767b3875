public import Foundation

/// The tus state of an upload in the journal, in addition to its row: enough to resume after a crash.
public struct TusRecord: Sendable, Equatable {
    /// One tus upload: the whole file, or one of several parts that are joined at the end.
    public struct Part: Sendable, Equatable, Codable {
        /// First byte in the file.
        public var start: Int64
        public var byteCount: Int64
        /// The ID on the server; nil until the response to its creation.
        public var tusID: String?
        /// `Upload-Expires`, if the server sends it.
        public var expiresAt: Date?
        /// When the response to its creation arrived; nil if unknown.
        public var createdAt: Date?
        /// The size in bytes of all chunks but the last, if the server counts chunks; nil if chunks may differ. A
        /// version that does not recognize this key drops it with its first write, so a part that still has it was sent
        /// only in chunks of this size.
        public var chunkBytes: Int64?
        /// The chunk that was started last; nil if unknown, or if chunks have a fixed size. A version that does not
        /// recognize this key drops it, which only makes the next chunk larger.
        public var lastChunk: Chunk?
        /// The newest proofs of the bytes sent, oldest first; two are enough.
        public var proofs: [Proof] = []

        /// Whether the server counts chunks, as the form of the upload's ID shows (UUID; gighive-d4 contract section
        /// 1), but the size of the chunks is unknown.
        public var needsChunkSize: Bool { chunkBytes == nil && tusID.flatMap { UUID(uuidString: $0) } != nil }
    }

    /// A chunk whose transfer has begun.
    public struct Chunk: Sendable, Equatable, Codable {
        /// Bytes from the part's start.
        public var offset: Int64
        /// Length in bytes. The part may end earlier.
        public var byteCount: Int64

        public init(offset: Int64, byteCount: Int64) {
            self.offset = offset
            self.byteCount = byteCount
        }
    }

    /// The digest of the first bytes of a part.
    public struct Proof: Sendable, Equatable, Codable {
        /// Bytes from the part's start.
        public var offset: Int64
        /// SHA-256, 64 lowercase hexadecimal characters.
        public var digest: String

        public init(offset: Int64, digest: String) {
            self.offset = offset
            self.digest = digest
        }
    }

    /// The upload's ID in the journal.
    public var uploadID: String
    /// The parts in order of their bytes; one unless the file is sent in parallel.
    public var parts: [Part]
    /// The ID that is finalized: the ID of the only part, or of the joined upload.
    public var finalTusID: String?
    /// When a finalize request was last about to be sent; nil if that has never happened. From then on, the server may
    /// have stored the file.
    public var finalizeStartedAt: Date?

    /// Whether the server counts chunks. It then stores the file with the last chunk, before any finalize request.
    public var isInChunks: Bool { parts.count == 1 && parts[0].chunkBytes != nil }

    /// Whether the last byte may be on a server that counts chunks, which has then stored the file.
    public var mayBeStored: Bool { isInChunks && parts[0].proofs.last?.offset == parts[0].byteCount }
}

extension TusRecord {
    /// Creates a record of an upload whose finalize request was never sent.
    public init(uploadID: String, parts: [Part]) {
        self.init(uploadID: uploadID, parts: parts, finalTusID: nil)
    }
}

extension TusRecord.Part {
    /// Creates a part that the server does not have yet.
    public init(start: Int64, byteCount: Int64) {
        self.init(start: start, byteCount: byteCount, tusID: nil)
    }
}

extension TusRecord: Storable {
    static let table = "tus_uploads"

    private enum CodingKeys: String, CodingKey {
        case parts
        case uploadID = "upload_id"
        case finalTusID = "final_tus_id"
        case finalizeStartedAt = "finalize_started_at"
    }
}

/// Statements on the table `tus_uploads`. The parts are one JSON text: they are always read and written together.
enum TusRow {
    /// Whether a row of `uploads` ended without a file on the server, while a tus server has some of its bytes. Takes
    /// the current time as the second argument.
    static let isResumable = """
        state IN (\(UploadRow.names(of: [.failed, .cancelled]))) AND EXISTS (
            SELECT 1 FROM tus_uploads, json_each(tus_uploads.parts) AS part
            WHERE tus_uploads.upload_id = uploads.upload_id AND json_extract(part.value, '$.tusID') IS NOT NULL
                AND coalesce(json_extract(part.value, '$.expiresAt') > ?2, TRUE))
        """

    /// Whether a string contains valid parts of a record.
    static func isReadable(_ parts: String) -> Bool {
        (try? ColumnJSON.decoder.decode([TusRecord.Part].self, from: Data(parts.utf8))) != nil
    }
}
