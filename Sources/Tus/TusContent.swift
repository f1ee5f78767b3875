public import MediaCrypto
public import MediaTransport

/// A snapshot of a running digest: the hash of the first `offset` bytes of the content.
public struct TusProof: Sendable, Equatable {
    /// Bytes from the start of the content.
    public var offset: Int64
    /// SHA-256 of these bytes.
    public var digest: SHA256Digest

    public init(offset: Int64, digest: SHA256Digest) {
        self.offset = offset
        self.digest = digest
    }
}

/// A chunk whose transfer has begun.
public struct TusChunk: Sendable, Equatable {
    /// First byte in the content.
    public var offset: Int64
    /// Length in bytes. The content may end earlier.
    public var byteCount: Int64

    public init(offset: Int64, byteCount: Int64) {
        self.offset = offset
        self.byteCount = byteCount
    }
}

/// The bytes of one tus upload: a file, or one part of it.
public struct TusContent: Sendable {
    /// Returns the open file for one request. Called for every chunk.
    public var open: @Sendable () throws -> FileContent
    /// Offset of the content in the file.
    public var start: Int64
    public var byteCount: Int64
    /// Proofs stored by earlier runs, in any order; the server's prefix is compared with the longest one that fits.
    public var proofs: [TusProof]
    /// The chunk in which the last run ended, as passed to `begin`; nil if unknown. If the server kept nothing of it,
    /// this run begins with smaller chunks, so runs that are interrupted before a whole chunk can be sent still make
    /// progress.
    public var lastChunk: TusChunk?
    /// Called before each chunk of adaptive size is sent, to store the chunk for the next run. An error that it throws
    /// ends the sending as `.journal`.
    public var begin: @Sendable (TusChunk) async throws -> Void
    /// Stores a proof durably. A chunk's last byte is sent only after this has returned for the chunk's end, so the
    /// server never has a chunk without a stored proof. An error that it throws ends the sending as `.journal`.
    public var keep: @Sendable (TusProof) async throws -> Void

    public init(
        start: Int64 = 0,
        byteCount: Int64,
        proofs: [TusProof] = [],
        lastChunk: TusChunk? = nil,
        open: @escaping @Sendable () throws -> FileContent,
        begin: @escaping @Sendable (TusChunk) async throws -> Void = { _ in },
        keep: @escaping @Sendable (TusProof) async throws -> Void
    ) {
        self.start = start
        self.byteCount = byteCount
        self.proofs = proofs
        self.lastChunk = lastChunk
        self.begin = begin
        self.open = open
        self.keep = keep
    }
}

/// How content is sent.
public struct TusSendOptions: Sendable {
    /// Size of the first chunk in bytes; after an interrupted run, it is limited by the size of `TusContent.lastChunk`.
    /// Chunk sizes then adapt: halved (not below `minimumChunkBytes`) by a 413, by interruptions and by a chunk that
    /// takes 20 seconds; doubled (not above `maximumChunkBytes` or a size refused with 413) while the network is
    /// stable.
    public var chunkBytes: Int64
    public var minimumChunkBytes: Int64
    /// The largest chunk in bytes; proxies refuse bodies of 100 MB.
    public var maximumChunkBytes: Int64
    /// Consecutive failures without progress after which sending fails; each increase of the server's offset resets the
    /// count. A network failure after which the next chunk is smaller never ends the sending.
    public var retry: RetryPolicy
    /// The waits for an upload that another request has locked (423).
    public var lock: RetryPolicy
    /// Whether the upload was just created and is empty, so no `HEAD` is needed.
    public var isNew: Bool
    /// Sends a checksum with each chunk (extension "checksum"), which requires reading every chunk twice; nil for none.
    /// See `TusFeatures.preferredChecksum`.
    public var checksum: DigestAlgorithm?
    /// The exact size in bytes of every chunk but the last, for a server whose offsets count chunks
    /// (`TusFeatures.countsChunks`); an impossible offset then ends the upload as `.dead`. nil for chunks of adaptive
    /// size.
    public var fixedChunkBytes: Int64?

    /// Creates a set of options; the defaults are those used by the command line.
    public init(
        chunkBytes: Int64 = 8 << 20,
        minimumChunkBytes: Int64 = 64 << 10,
        maximumChunkBytes: Int64 = 64 << 20,
        retry: RetryPolicy = RetryPolicy(),
        lock: RetryPolicy = .tusLock,
        isNew: Bool = false
    ) {
        self.chunkBytes = chunkBytes
        self.minimumChunkBytes = minimumChunkBytes
        self.maximumChunkBytes = maximumChunkBytes
        self.retry = retry
        self.lock = lock
        self.isNew = isNew
    }

    var longestChunk: Int64 { fixedChunkBytes ?? max(chunkBytes, maximumChunkBytes) }
}

/// The result of sending content.
public struct TusDelivery: Sendable {
    /// SHA-256 of the whole content: of the bytes sent now and of those already on the server, read again.
    public var digest: SHA256Digest
    /// Offset at which this call began.
    public var resumedAt: Int64
    /// Body bytes sent by this call, including those sent again.
    public var bytesSent: Int64
    /// Number of failed requests that were retried.
    public var retriedFailures: Int
}

/// Events while content is sent.
public enum TusEvent: Sendable {
    /// The prefix on the server is being read again; `bytes` of `byteCount` are done.
    case verifying(bytes: Int64, byteCount: Int64)
    /// Bytes of the content that the server has or the peer's kernel has acknowledged, and the state of the transfer.
    case progress(offset: Int64, TransferProgress)
    /// The server has all bytes up to here.
    case acknowledged(offset: Int64)
    /// A wait before a retry. Attempts count from 1, and restart at 1 after each increase of the server's offset.
    case retrying(attempt: Int, after: Duration, because: TusError)
}
