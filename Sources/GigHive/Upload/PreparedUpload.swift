internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// A source that has passed every check that can be made without the server.
public struct PreparedUpload: Sendable {
    /// The source as given; `-` for standard input.
    public let path: [UInt8]
    /// The name told to the server.
    public let fileName: String
    /// Length in bytes.
    public let sizeBytes: Int64
    /// The part's content type.
    public let contentType: String
    /// What is told about it.
    public let details: UploadDetails
    /// Noticed on the way.
    public let warnings: [UploadWarning]
    let source: UploadSource
    /// The file when it was checked; nil for a spooled standard input.
    let identity: FileIdentity?

    /// What the journal calls the source: a path, or the name given to standard input.
    var journalPath: [UInt8] {
        switch source {
        case .file(let path): path
        case .spooled(_, let name): Array(name.utf8)
        }
    }
}

extension PreparedUpload {
    /// Has the copy of standard input removed, unless it is kept for an upload that may go on. To be called when nothing is
    /// sent any more; does nothing for a file.
    public func releaseSpool() {
        if case .spooled(let spool, _) = source { spool.release() }
    }

    /// Whether an earlier upload was for the same event.
    func isForEvent(of row: UploadRecord) -> Bool {
        let event = { (fields: [UploadField]) in fields.filter { ["event_date", "org_name"].contains($0.name) } }
        return event(row.fields) == event(details.fields)
    }
}

extension Uploader {
    /// Apache refuses direct bodies above this (gighive contract 2.6).
    static let directBodyLimit: Int64 = 1 << 30
    /// Room for the text parts and boundaries of a body.
    private static let formOverhead: Int64 = 16 << 10

    /// Checks everything the server would only refuse after the whole body. Sends nothing, writes nothing, and reads only
    /// where the name does not tell the type: what needs no sending is not read.
    ///
    /// - Throws: `GigHiveError`: the file's own errors, `.fileTooLarge`, `.unknownExtension`.
    public func prepare(_ source: UploadSource, details: UploadDetails) throws(GigHiveError) -> PreparedUpload {
        switch source {
        case .file(let path):
            let file: SourceFile
            do {
                file = try SourceFile(path: path)
            } catch {
                throw .source(error)
            }
            return try prepare(
                source,
                path: path,
                fileName: path.fileName,
                sizeBytes: file.status.size,
                identity: file.status,
                prefix: { () throws(SourceFileError) in try file.prefix(MediaType.prefixCount) },
                details: details
            )
        case .spooled(let spool, let name):
            return try prepare(
                source,
                path: Array("-".utf8),
                fileName: Array(name.utf8).fileName,
                sizeBytes: spool.byteCount,
                identity: nil,
                prefix: { OpenFile.prefix(of: spool.descriptor, MediaType.prefixCount) },
                details: details
            )
        }
    }

    private func prepare(
        _ source: UploadSource,
        path: [UInt8],
        fileName: String,
        sizeBytes: Int64,
        identity: FileIdentity?,
        prefix: () throws(SourceFileError) -> [UInt8],
        details: UploadDetails
    ) throws(GigHiveError) -> PreparedUpload {
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
        let pathExtension = FileName.pathExtension(of: fileName)
        guard AcceptedMedia.kind(ofExtension: pathExtension) != nil || options.anyExtension else {
            throw GigHiveError(.unknownExtension, path: path, value: pathExtension)
        }
        var warnings: [UploadWarning] = []
        if sizeBytes + Self.formOverhead > Self.directBodyLimit {
            warnings.append(.aboveDirectLimit)
        }
        let contentType: String
        do {
            contentType =
                try MediaType.declared(fileName: fileName, lazily: prefix)?.mimeType ?? "application/octet-stream"
        } catch {
            throw .source(error)
        }
        return PreparedUpload(
            path: path,
            fileName: fileName,
            sizeBytes: sizeBytes,
            contentType: contentType,
            details: details,
            warnings: warnings,
            source: source,
            identity: identity
        )
    }
}

extension MediaType {
    /// How much of a file tells its type.
    static let prefixCount = 4096

    /// As `declared`, reading the content only when it matters: the name is unknown, or stands for a container that may
    /// hold either kind.
    fileprivate static func declared(
        fileName: String,
        lazily prefix: () throws(SourceFileError) -> [UInt8]
    ) throws(SourceFileError) -> MediaType? {
        if let byName = declared(fileName: fileName, prefix: []), byName.mimeType != "audio/ogg" {
            return byName
        }
        return declared(fileName: fileName, prefix: try prefix())
    }

    /// What to say of a file whose content is of another kind than its name says.
    static func mismatch(fileName: String, prefix: [UInt8]) -> UploadWarning? {
        guard let declared = declared(fileName: fileName, prefix: prefix), let sniffed = sniffed(prefix),
            sniffed.kind != declared.kind
        else { return nil }
        return .typeMismatch(declared: declared.mimeType, sniffed: sniffed.mimeType)
    }
}

/// The bytes of one upload, open for reading.
struct OpenFile: Sendable {
    private let source: UploadSource
    private let file: SourceFile?
    private let descriptor: Int32
    let byteCount: Int64
    /// Before any of it was read.
    let openedAt: Date
    /// Noticed in the first bytes.
    let warnings: [UploadWarning]

    /// Opens the source again and makes sure that it still is what was checked.
    ///
    /// - Throws: `GigHiveError` with `.sourceChanged`, or why it cannot be opened.
    init(_ upload: PreparedUpload, openedAt: Date) throws(GigHiveError) {
        self.openedAt = openedAt
        source = upload.source
        switch upload.source {
        case .file(let path):
            let file: SourceFile
            do { file = try SourceFile(path: path) } catch { throw .source(error) }
            self.file = file
            descriptor = file.descriptor
            byteCount = file.status.size
            guard file.status == upload.identity else {
                throw GigHiveError(.sourceChanged, detail: "the file has changed since it was checked", path: path)
            }
        case .spooled(let spool, _):
            file = nil
            descriptor = spool.descriptor
            byteCount = spool.byteCount
        }
        let prefix = Self.prefix(of: descriptor, MediaType.prefixCount)
        warnings = MediaType.mismatch(fileName: upload.fileName, prefix: prefix).map { [$0] } ?? []
    }

    /// Whether descriptor and path still show the file that was opened.
    var isUnchanged: Bool {
        guard let file else { return true }
        return (try? file.currentStatus()) == file.status
    }

    /// The content for one try, over a descriptor of its own: the transport closes what it gets.
    ///
    /// - Throws: `GigHiveError` when the process has no descriptor left.
    func content(path: [UInt8]) throws(GigHiveError) -> FileContent {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw GigHiveError(.fileUnreadable, detail: SystemError.words(errno), path: path)
        }
        return FileContent(owning: copy, byteCount: byteCount)
    }

    /// The first bytes of an open file, at most `count`; fewer when reading fails, because they only hint at a type.
    static func prefix(of descriptor: Int32, _ count: Int) -> [UInt8] {
        (try? FileBytes.read(descriptor, at: 0, count: count)) ?? []
    }
}

/// SHA-256 of a whole file.
enum FileDigest {
    /// Reads a file of a given identity to its end, away from Swift's own threads.
    ///
    /// - Returns: nil when the file is gone, unreadable, or another than `identity`.
    static func hex(path: [UInt8], identity: FileIdentity) async -> String? {
        guard let file = try? SourceFile(path: path), file.status == identity,
            let digest = try? await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: identity.size),
            let status = try? file.currentStatus(), status == file.status
        else { return nil }
        return digest.hex
    }
}

/// Hands the bytes of a file to the hash as they are sent, and notes when the last of them went.
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
            KillPoint.midBody.reach()
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

    /// The digest of the whole file; nil unless every byte of it was sent.
    func digest() async throws(CryptoError) -> String? {
        guard completedAt != nil else { return nil }
        let (digest, byteCount) = try await pipeline.finish()
        return byteCount == expected ? digest.hex : nil
    }
}

/// Finds out, while a large file travels slowly, that the event has its bytes already, and stops the transfer.
///
/// After a second of sending, if less than a quarter has gone, the file is hashed on a thread of its own, and the journal
/// and the server are asked by digest. What is found stops the transfer gently: only while body bytes remain, so never a
/// finalize in flight. A question that fails changes nothing.
///
/// For any transport: send under `control` between `begin` and `finish`, with `observing` as the event handler, and take
/// `end` when the transfer was cancelled.
final class LookAhead: Sendable {
    private struct State {
        var hasBegun = false
        var task: Task<Void, Never>?
        var bytesSent: Int64 = 0
        var end: UploadResult?
    }

    /// Stops with the upload's own control, and when the file need not be sent.
    let control: TransferControl
    private let uploader: Uploader
    private let upload: PreparedUpload
    /// Ends the questions with the transfer.
    private let questions = TransferControl()
    private let state = Mutex(State())

    /// - Returns: nil where it cannot pay: a small file, one whose digest was known before, or one that is sent by force
    ///   or by a guest.
    init?(_ uploader: Uploader, _ upload: PreparedUpload, control: TransferControl) {
        guard upload.sizeBytes >= uploader.options.lookAheadBytes, upload.identity != nil, !uploader.options.again,
            uploader.options.guest == nil, uploader.knownDigest(upload) == nil
        else { return nil }
        self.uploader = uploader
        self.upload = upload
        self.control = control.linked()
    }

    /// The end of the upload, when the file was found.
    var end: UploadResult? { state.withLock { $0.end } }

    /// The transfer begins. Only the first try is looked ahead of.
    func begin() {
        state.withLock { state in
            guard !state.hasBegun else { return }
            state.hasBegun = true
            state.task = Task { await look() }
        }
    }

    /// The transfer has ended.
    func finish() async {
        questions.abandon()
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    /// A handler that notes how much has gone.
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
        let earlier = EarlierUploads(uploader: uploader, upload: upload, control: questions, onEvent: { _ in })
        guard let end = try? await earlier.known(checksum), !Task.isCancelled else { return }
        state.withLock { $0.end = end }
        control.stop()
    }

    /// Without a delay every transfer counts as slow.
    private func isSlow() async -> Bool {
        guard uploader.lookAheadDelay > .zero else { return true }
        guard (try? await Task.sleep(for: uploader.lookAheadDelay)) != nil else { return false }
        return state.withLock { $0.bytesSent } < upload.sizeBytes / 4
    }
}
