internal import MediaFiles
internal import MediaStore
internal import MediaSystem

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
