internal import Foundation
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// A source that passed every check that is possible without the server.
@dynamicMemberLookup public struct PreparedUpload: Sendable {
    /// The members of an upload, in one allocation, because a batch holds many of them.
    public struct Values: Sendable {
        /// The source as given; `-` for standard input.
        public let path: [UInt8]
        /// The file name sent to the server.
        public let fileName: String
        public let sizeBytes: Int64
        public let contentType: String
        public internal(set) var details: UploadDetails
        public let warnings: [UploadWarning]
        /// The source in the journal: its path, or the name given to standard input.
        let journalPath: [UInt8]
        /// The identity of the file when it was checked; nil for spooled standard input.
        let identity: FileIdentity?
        /// The copy of standard input; nil for a file.
        let spool: SpoolFile?
    }

    @Boxed private var values: Values

    init(_ values: Values) { self.values = values }

    /// A member of `Values`.
    public subscript<Member>(dynamicMember path: KeyPath<Values, Member>) -> Member { values[keyPath: path] }

    /// Warnings from the checks, for every transport.
    public var warnings: [UploadWarning] { values.warnings }

    /// This upload with different details.
    func with(_ details: UploadDetails) -> PreparedUpload {
        var changed = values
        changed.details = details
        return PreparedUpload(changed)
    }
}

extension PreparedUpload {
    /// Removes the copy of standard input, unless it is kept for an upload that may be resumed. Call this when nothing
    /// more will be sent; it does nothing for a file.
    public func releaseSpool() { self.spool?.release() }

    /// Whether an earlier upload was for the same event.
    func isForEvent(of row: UploadRecord) -> Bool {
        ["event_date", "org_name"].allSatisfy { row.fields[$0] == self.details.fields[$0] }
    }
}

extension Uploader {
    /// The largest direct body that Apache accepts, in bytes (gighive contract 2.6).
    static let directBodyLimit: Int64 = 1 << 30
    /// Room for the text parts and boundaries of a body.
    private static let formOverhead: Int64 = 16 << 10

    /// Checks everything that the server would refuse only after the whole body. Sends and writes nothing, and reads
    /// only if the name does not determine the type.
    ///
    /// - Parameters:
    ///   - source: The path of the file, or the name given to standard input.
    ///   - spool: The copy of standard input; nil for a file.
    ///   - details: The details to send.
    /// - Returns: The argument of `upload`.
    /// - Throws: `GigHiveError`: the file's own errors, `.fileTooLarge`, `.unknownExtension`.
    public func prepare(
        _ source: [UInt8],
        spool: SpoolFile? = nil,
        details: UploadDetails
    ) throws(GigHiveError) -> PreparedUpload {
        let path = spool == nil ? source : Array("-".utf8)
        let fileName = source.fileName
        let file: SourceFile?
        do {
            file = try spool == nil ? SourceFile(checking: source) : nil
        } catch {
            throw .source(error)
        }
        let sizeBytes = file?.status.size ?? spool?.byteCount ?? 0
        guard sizeBytes > 0 else {
            throw GigHiveError(.emptyFile, path: path)
        }
        guard sizeBytes <= options.maximumBytes else {
            throw GigHiveError(
                .fileTooLarge,
                detail: "\(sizeBytes) bytes; at most \(options.maximumBytes) are allowed",
                path: path,
                value: String(sizeBytes),
                limit: options.maximumBytes
            )
        }
        let pathExtension = fileName.nameParts.pathExtension.lowercased()
        guard AcceptedMedia.kind(ofExtension: pathExtension) != nil || options.anyExtension else {
            throw GigHiveError(.unknownExtension, path: path, value: pathExtension)
        }
        var warnings: [UploadWarning] = []
        if sizeBytes + Self.formOverhead > Self.directBodyLimit {
            warnings.append(.aboveDirectLimit)
        }
        let contentType: String
        do {
            let type = try MediaType.declared(fileName: fileName) { () throws(SourceFileError) in
                try file?.prefix(MediaType.prefixCount) ?? MediaType.prefix(of: spool?.descriptor)
            }
            contentType = type?.mimeType ?? "application/octet-stream"
        } catch {
            throw .source(error)
        }
        return PreparedUpload(
            PreparedUpload.Values(
                path: path,
                fileName: fileName,
                sizeBytes: sizeBytes,
                contentType: contentType,
                details: details,
                warnings: warnings,
                journalPath: source,
                identity: file?.status,
                spool: spool
            )
        )
    }
}

extension MediaType {
    /// Number of bytes of a file that are examined for its type.
    static let prefixCount = 4096

    /// The first bytes of an open file; fewer if reading fails, because they only indicate a type.
    fileprivate static func prefix(of descriptor: Int32?) -> [UInt8] {
        descriptor.flatMap { try? FileBytes.read($0, at: 0, count: prefixCount) } ?? []
    }

    /// Like `declared`, reading the content only if the name is unknown, or belongs to a container format for either
    /// kind.
    fileprivate static func declared(
        fileName: String,
        _ prefix: () throws(SourceFileError) -> [UInt8]
    ) throws(SourceFileError) -> MediaType? {
        if let byName = declared(fileName: fileName, prefix: []), byName.mimeType != "audio/ogg" {
            return byName
        }
        return declared(fileName: fileName, prefix: try prefix())
    }
}

extension PreparedUpload {
    /// Opens the source again, for sending. Throws `.sourceChanged` if the file is not the one that was checked, or was
    /// modified.
    func open() throws(GigHiveError) -> FileContent {
        if let spool = self.spool {
            return FileContent(sharing: spool.descriptor, of: spool, byteCount: spool.byteCount)
        }
        let file: SourceFile
        do { file = try SourceFile(path: self.path) } catch { throw .source(error) }
        guard let identity = self.identity, file.status.isProbablyUnchanged(since: identity) else {
            let detail = "the file has changed since it was checked"
            throw GigHiveError(.sourceChanged, detail: detail, path: self.path)
        }
        return FileContent(sharing: file.descriptor, of: file, byteCount: file.status.size) {
            (try? file.currentStatus())?.isProbablyUnchanged(since: file.status) == true
        }
    }

    /// The warning for an opened source whose first bytes and name are of different kinds.
    func mismatch(of file: FileContent) -> UploadWarning? {
        let prefix = MediaType.prefix(of: file.descriptor)
        guard let declared = MediaType.declared(fileName: self.fileName, prefix: prefix),
            let sniffed = MediaType.sniffed(prefix), sniffed.kind != declared.kind
        else { return nil }
        return .typeMismatch(declared: declared.mimeType, sniffed: sniffed.mimeType)
    }
}

enum FileDigest {
    /// Reads a whole file outside Swift's thread pool; nil if it is gone, unreadable, or a file with a different
    /// identity, or after a stop.
    static func hex(path: [UInt8], identity: FileIdentity?, until control: TransferControl? = nil) async -> String? {
        guard let identity, let file = try? SourceFile(path: path), file.status == identity,
            let digest = try? await of(file.descriptor, byteCount: identity.size, until: control),
            let status = try? file.currentStatus(), status == file.status
        else { return nil }
        return digest.hex
    }

    /// Reads a range of an open file outside Swift's thread pool.
    ///
    /// - Throws: `CancellationError` after a stop; `CryptoError` if reading failed.
    static func of(
        _ descriptor: Int32,
        from start: Int64 = 0,
        byteCount: Int64,
        until control: TransferControl?
    ) async throws -> SHA256Digest {
        let pipeline = try HashPipeline()
        try await pipeline.append(file: descriptor, from: start, byteCount: byteCount) { _ in
            if control?.isStopRequested == true { throw CancellationError() }
        }
        return try await pipeline.finish().digest
    }
}

/// Hashes the bytes of a file as they are sent, and records when the last one was sent.
final class HashTap: ByteTap {
    private struct State {
        var byteCount: Int64 = 0
        var completedAt: ContinuousClock.Instant?
    }

    private let pipeline: HashPipeline
    private let expected: Int64
    private let state = Mutex(State())

    init(_ pipeline: HashPipeline, expecting byteCount: Int64) {
        self.pipeline = pipeline
        expected = byteCount
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        pipeline.append(bytes)
        let byteCount = state.withLock { state in
            state.byteCount += Int64(bytes.count)
            if state.byteCount >= expected {
                state.completedAt = .now
            }
            return state.byteCount
        }
        if byteCount > expected / 2 {
            UploadFailpoint.midBody.reach()
        }
    }

    func restart() {
        pipeline.restart()
        state.withLock { $0 = State() }
    }

    /// When the last byte of the file was read for sending; nil while bytes remain.
    var completedAt: ContinuousClock.Instant? {
        state.withLock { $0.completedAt }
    }

    /// The digest of the whole file; nil unless every byte was sent.
    func digest() async throws(CryptoError) -> String? {
        guard completedAt != nil else { return nil }
        let (digest, byteCount) = try await pipeline.finish()
        return byteCount == expected ? digest.hex : nil
    }
}

/// Detects, while a large file is sent slowly, that the event already has its bytes, and stops the transfer.
///
/// After a second of sending, if less than a quarter has been sent, the file is hashed on its own thread, and the
/// journal and the server are queried by digest. A match stops the transfer gracefully: only while body bytes remain,
/// so a finalize request in flight is never stopped. A failed query changes nothing.
///
/// For any transport: send under `control` between `begin` and `finish`, with `observing` as the event handler, and use
/// `end` if the transfer was canceled.
final class LookAhead: Sendable {
    private struct State {
        var hasBegun = false
        var task: Task<Void, Never>?
        var bytesSent: Int64 = 0
        var end: UploadResult?
    }

    /// Stops when the upload's own control does, or when the file need not be sent.
    let control: TransferControl
    private let uploader: Uploader
    private let upload: PreparedUpload
    /// Cancels the queries with the transfer.
    private let questions = TransferControl()
    private let state = Mutex(State())

    /// - Returns: nil if looking ahead cannot pay off: for a small file, one whose digest is already known, or a forced
    ///   or guest upload.
    init?(_ uploader: Uploader, _ upload: PreparedUpload, control: TransferControl) {
        guard upload.sizeBytes >= uploader.options.lookAheadBytes, upload.identity != nil, !uploader.options.again,
            uploader.options.guest == nil, uploader.knownDigest(upload) == nil
        else { return nil }
        self.uploader = uploader
        self.upload = upload
        self.control = control.linked()
    }

    /// The result of the upload, if the file was found.
    var end: UploadResult? { state.withLock { $0.end } }

    /// The transfer begins. Only the first attempt is watched.
    func begin() {
        state.withLock { state in
            guard !state.hasBegun else { return }
            state.hasBegun = true
            state.task = Task { await look() }
        }
    }

    func finish() async {
        questions.abandon()
        let task = state.withLock { exchange(&$0.task, with: nil) }
        task?.cancel()
        await task?.value
    }

    /// An event handler that records how much was sent.
    func observing(_ onEvent: @escaping @Sendable (UploadEvent) -> Void) -> @Sendable (UploadEvent) -> Void {
        { event in
            if case .progress(let progress) = event {
                self.state.withLock { $0.bytesSent = progress.bytesAcknowledged }
            }
            onEvent(event)
        }
    }

    private func look() async {
        guard await isSlow(), let checksum = await uploader.readDigest(of: upload) else { return }
        let earlier = uploader.earlierUploads(of: upload, control: questions, onEvent: { _ in })
        guard let end = try? await earlier.known(checksum), !Task.isCancelled else { return }
        state.withLock { $0.end = end }
        control.stop()
    }

    /// Without a delay, every transfer counts as slow.
    private func isSlow() async -> Bool {
        guard uploader.lookAheadDelay > .zero else { return true }
        guard (try? await Task.sleep(for: uploader.lookAheadDelay)) != nil else { return false }
        return state.withLock { $0.bytesSent } < upload.sizeBytes / 4
    }
}
