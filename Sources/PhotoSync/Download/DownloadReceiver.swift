internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Writes the bytes of one response to the partial file, and hashes them on another core.
final class DownloadReceiver: ResponseReceiver {
    struct State {
        /// nil until the response is accepted.
        var head: DownloadHead?
        /// Bytes in the file.
        var position: Int64
        var received: Int64 = 0
        /// Bytes of this response not yet reported as progress.
        var unreported: Int64 = 0
        /// Writeback was started up to this offset.
        var writebackEnd: Int64
    }

    /// Number of bytes after which writeback is started again.
    private static let writebackStep: Int64 = 8 << 20

    private let file: PartialFile
    private let pipeline: HashPipeline
    private let photo: PhotoRecord
    private let offset: Int64
    private let expectedTotal: Int64?
    private let onBegin: @Sendable (DownloadHead) -> Void
    private let state: Mutex<State>

    /// `file` contains, and `pipeline` has processed, the bytes before the requested `offset`; `expectedTotal` is the
    /// total length of the file from which those bytes came. `onBegin` is called with the head of an accepted response,
    /// on the transfer loop's thread.
    init(
        _ photo: PhotoRecord,
        to file: PartialFile,
        from offset: Int64,
        expectedTotal: Int64? = nil,
        pipeline: HashPipeline,
        onBegin: @escaping @Sendable (DownloadHead) -> Void = { _ in }
    ) {
        self.photo = photo
        self.file = file
        self.offset = offset
        self.expectedTotal = expectedTotal
        self.pipeline = pipeline
        self.onBegin = onBegin
        state = Mutex(State(position: offset, writebackEnd: offset))
    }

    var result: State { state.withLock { $0 } }

    /// Returns the digest of the complete file and the evidence that it is the photo, by the rules of contract section
    /// 6 and new fact 1. The hash is compared first: a file with the right hash is correct regardless of the ID written
    /// by the camera. `knownDigests` contains the digests of verified downloads of the photo.
    func judge(knownDigests: [String] = []) async throws(PhotoSyncError) -> (digest: String, evidence: PhotoEvidence) {
        let state = result
        guard let total = state.head?.totalBytes, state.position == total else {
            let detail = "\(state.position) bytes of \(state.head?.totalBytes ?? 0)"
            throw PhotoSyncError(.lengthMismatch, detail: detail, isRetryable: true)
        }
        let digest: String
        do {
            digest = try await pipeline.finish().digest.hex
        } catch {
            throw PhotoSyncError(.internalError, detail: "\(error)")
        }
        if digest == photo.sha256 || knownDigests.contains(digest) { return (digest, .photo) }
        let status = state.head?.status
        // The server sends this header with every download. A page from a proxy or captive portal is not a photo.
        guard state.head?.sha256 != nil else { throw .withoutHash(status) }
        guard total > 0 else {
            throw PhotoSyncError(.undeliverable, detail: "it is empty", httpStatus: status)
        }
        return (digest, try await PhotoEvidence.of(file, photo))
    }

    func takeUnreported() -> Int64 {
        state.withLock { state in
            defer { state.unreported = 0 }
            return state.unreported
        }
    }

    func begin(_ head: HTTPResponseHead) throws {
        guard var download = DownloadHead(head) else { throw unexpected("a response without a range", head) }
        if let coding = head.value(of: "Content-Encoding"), coding.lowercased() != "identity" {
            throw unexpected("an encoded body: \(coding)", head)
        }
        try checkDigest(download)
        if !Self.isStrong(head) { download.lastModified = nil }
        guard let total = download.totalBytes, total >= 0 else { throw unexpected("no length", head) }
        try state.withLock { state in
            if download.status == 206 { try checkRange(download, total) }
            do throws(FileWriteError) {
                // A 200 in response to a range request: the server's file has changed.
                if download.status == 200, state.position > 0 {
                    try file.truncate(to: 0)
                    pipeline.restart()
                    state.position = 0
                    state.writebackEnd = 0
                }
                try file.reserve(total)
            } catch {
                throw PhotoSyncError(error)
            }
            state.head = download
        }
        onBegin(download)
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let position = try state.withLock { state in
            guard let total = state.head?.totalBytes, total - state.position >= bytes.count else {
                throw PhotoSyncError(.lengthMismatch, detail: "more bytes than the Content-Length", isRetryable: true)
            }
            let start = state.position
            try PhotoSyncError.writing { () throws(FileWriteError) in try file.write(bytes, at: start) }
            state.position += Int64(bytes.count)
            state.received += Int64(bytes.count)
            state.unreported += Int64(bytes.count)
            if state.position - state.writebackEnd >= Self.writebackStep {
                file.beginWriteback(state.writebackEnd..<state.position)
                state.writebackEnd = state.position
            }
            return (now: state.position, end: total)
        }
        pipeline.append(bytes)
        if position.now < position.end { SyncFailpoint.downloadMidBody.reach() }
    }

    /// Whether `Last-Modified` is a strong validator: it must be at least a second before `Date`, since the file may
    /// have been written twice within that second (RFC 9110 section 8.8.2.2). The server writes twice just after an
    /// upload (contract section 6).
    private static func isStrong(_ head: HTTPResponseHead) -> Bool {
        guard let modified = head.value(of: "Last-Modified").flatMap(HTTPDate.parse),
            let now = head.value(of: "Date").flatMap(HTTPDate.parse)
        else { return false }
        return now > modified
    }

    /// The bytes of a photo ID never change. If the listing and the download have different digests, one of them
    /// belongs to a different photo, and it is unknown which.
    private func checkDigest(_ head: DownloadHead) throws {
        guard let reported = head.sha256, reported != photo.sha256 else { return }
        let detail = "the SHA-256 of the download differs from the listing"
        throw PhotoSyncError(.checksumMismatch, detail: detail, value: reported)
    }

    /// `If-Range` has a resolution of one second; a file replaced within that second is detected by its length
    /// (contract section 6). `DownloadGate` has checked the first byte.
    private func checkRange(_ head: DownloadHead, _ total: Int64) throws {
        guard total == expectedTotal, head.byteCount == total - offset else {
            let detail = "bytes from \(head.firstByte) of \(total), requested from \(offset)"
            throw PhotoSyncError(.unexpectedResponse, detail: detail, httpStatus: head.status)
        }
    }

    private func unexpected(_ detail: String, _ head: HTTPResponseHead) -> PhotoSyncError {
        PhotoSyncError(.unexpectedResponse, detail: detail, httpStatus: head.status)
    }
}

/// Adds the digests of new files to the cache after a delay, since the cache rejects files that have just changed.
final class DigestKeeper: Sendable {
    private struct Entry {
        var path: [UInt8]
        var identity: FileIdentity
        var digest: String
        var writtenAt: Date
    }

    /// Slightly more than the cache requires.
    private static let rest = TimeInterval(HashCache.restAfterChange) / 1e9 + 0.001

    private let hashes: HashCache
    private let waiting = Mutex<[Entry]>([])

    init(_ hashes: HashCache) { self.hashes = hashes }

    func add(_ digest: String, of identity: FileIdentity, at path: [UInt8], writtenAt: Date) {
        let entry = Entry(path: path, identity: identity, digest: digest, writtenAt: writtenAt)
        let due = waiting.withLock { entries -> [Entry] in
            let limit = entry.writtenAt - Self.rest
            let count = entries.firstIndex { $0.writtenAt > limit } ?? entries.count
            defer {
                entries.removeFirst(count)
                entries.append(entry)
            }
            return Array(entries[..<count])
        }
        keep(due)
    }

    func finish() async {
        let entries = waiting.withLock { entries in
            defer { entries = [] }
            return entries
        }
        guard let last = entries.last else { return }
        let wait = max(0, last.writtenAt.timeIntervalSinceNow + Self.rest)
        try? await Task.sleep(for: .seconds(wait))
        keep(entries)
    }

    private func keep(_ entries: [Entry]) {
        for entry in entries where FileIdentity(ofRegularFile: entry.path) == entry.identity {
            hashes.keep(entry.digest, for: entry.identity)
        }
    }
}
