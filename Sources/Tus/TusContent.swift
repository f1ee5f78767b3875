public import MediaCrypto
public import MediaTransport

/// A finalised copy of a running digest: what the first `offset` bytes of a content hash to.
public struct TusProof: Sendable, Equatable {
    /// Bytes from the start of the content.
    public var offset: Int64
    /// SHA-256 of these bytes.
    public var digest: SHA256Digest

    /// Makes a proof.
    public init(offset: Int64, digest: SHA256Digest) {
        self.offset = offset
        self.digest = digest
    }
}

/// The bytes of one tus upload: a file, or one part of it.
public struct TusContent: Sendable {
    /// Opens the file for one request; the transport closes what it gets. Called again for every chunk.
    public var open: @Sendable () throws -> FileContent
    /// Where in the file the content starts.
    public var start: Int64
    /// Length of the content in bytes.
    public var byteCount: Int64
    /// Proofs kept by earlier runs, in any order; a prefix on the server is compared with the longest one that fits.
    public var proofs: [TusProof]
    /// Keeps a proof durably. A chunk's last byte goes out only after this has returned for the chunk's end, so that the
    /// server never has a chunk whose proof is not kept. An error that it throws ends the sending as `.journal`.
    public var keep: @Sendable (TusProof) async throws -> Void

    /// Makes a content.
    public init(
        start: Int64 = 0,
        byteCount: Int64,
        proofs: [TusProof] = [],
        open: @escaping @Sendable () throws -> FileContent,
        keep: @escaping @Sendable (TusProof) async throws -> Void
    ) {
        self.start = start
        self.byteCount = byteCount
        self.proofs = proofs
        self.open = open
        self.keep = keep
    }
}

/// How a content is sent.
public struct TusSendOptions: Sendable {
    /// Size of the first chunk in bytes. Chunks then adapt: halved (never below `minimumChunkBytes`) by a 413 and by
    /// cuts, doubled (never above `maximumChunkBytes`, nor what a 413 has shown to be too much) while the network holds.
    public var chunkBytes: Int64
    /// No chunk is made smaller than this.
    public var minimumChunkBytes: Int64
    /// No chunk is made larger than this; proxies stop bodies of 100 MB.
    public var maximumChunkBytes: Int64
    /// Faults in a row without any progress after which sending fails; each completed chunk starts the count anew. A cut
    /// after which the next chunk is smaller never ends it.
    public var retry: RetryPolicy
    /// How an upload that is locked by another request (423) is waited for.
    public var lock: RetryPolicy
    /// Says that the upload has just been created and holds nothing: spares the question how far it has got.
    public var isNew: Bool
    /// Sends a checksum with each chunk (extension "checksum"), for which every chunk is read twice; nil for none. See
    /// `TusFeatures.preferredChecksum`.
    public var checksum: DigestAlgorithm?
    /// The size of every chunk but the last in bytes, for a server whose offsets count chunks (`TusFeatures.OffsetUnit`):
    /// chunks then never change, and an offset that they cannot have ends the upload as `.dead`; nil for chunks that adapt.
    public var fixedChunkBytes: Int64?

    /// Makes a set of options; the defaults are those of the command line.
    public init(
        chunkBytes: Int64 = 8 << 20,
        minimumChunkBytes: Int64 = 256 << 10,
        maximumChunkBytes: Int64 = 64 << 20,
        retry: RetryPolicy = RetryPolicy(),
        lock: RetryPolicy = .tusLock,
        isNew: Bool = false,
        checksum: DigestAlgorithm? = nil,
        fixedChunkBytes: Int64? = nil
    ) {
        self.chunkBytes = chunkBytes
        self.minimumChunkBytes = minimumChunkBytes
        self.maximumChunkBytes = maximumChunkBytes
        self.retry = retry
        self.lock = lock
        self.isNew = isNew
        self.checksum = checksum
        self.fixedChunkBytes = fixedChunkBytes
    }

    /// No chunk is longer than this.
    var longestChunk: Int64 { fixedChunkBytes ?? max(chunkBytes, maximumChunkBytes) }
}

/// What came of sending a content to its end.
public struct TusDelivery: Sendable {
    /// SHA-256 of the whole content, from the bytes sent now and, for what was on the server before, read again.
    public var digest: SHA256Digest
    /// Where this call began.
    public var resumedAt: Int64
    /// Body bytes sent by this call, those sent again included.
    public var bytesSent: Int64
    /// Requests that failed and were made good.
    public var faults: Int
}

/// What happens while a content is sent.
public enum TusEvent: Sendable {
    /// The prefix on the server is being read again; bytes of `byteCount` done.
    case proving(bytes: Int64, byteCount: Int64)
    /// Bytes of the content that the server has or the peer's kernel has acknowledged, and the phase of the transfer.
    case progress(offset: Int64, TransferProgress)
    /// The server has all bytes up to here.
    case acknowledged(offset: Int64)
    /// A fault is waited out. Tries count from 1, anew with each chunk that arrives.
    case retrying(attempt: Int, after: Duration, because: TusError)
}
