internal import MediaFiles
internal import MediaStore

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

extension Uploader {
    /// Apache refuses direct bodies above this (gighive contract 2.6).
    static let directBodyLimit: Int64 = 1 << 30
    /// Room for the text parts and boundaries of a body.
    private static let formOverhead: Int64 = 16 << 10

    /// Checks everything the server would only refuse after the whole body. Sends nothing, writes nothing.
    ///
    /// - Throws: `GigHiveError`: the file's own errors, `.fileTooLarge`, `.unknownExtension`.
    public func prepare(_ source: UploadSource, details: UploadDetails) throws(GigHiveError) -> PreparedUpload {
        switch source {
        case .file(let path):
            let file: SourceFile
            let prefix: [UInt8]
            do {
                file = try SourceFile(path: path)
                prefix = try file.prefix(4096)
            } catch {
                throw .source(error)
            }
            return try prepare(
                source,
                path: path,
                fileName: FileName.last(of: path),
                sizeBytes: file.status.size,
                identity: FileIdentity(file.status),
                prefix: prefix,
                details: details
            )
        case .spooled(let spool, let name):
            return try prepare(
                source,
                path: Array("-".utf8),
                fileName: FileName.last(of: Array(name.utf8)),
                sizeBytes: spool.byteCount,
                identity: nil,
                prefix: OpenFile.prefix(of: spool.descriptor, 4096),
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
        prefix: [UInt8],
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
        guard AcceptedMedia.kind(ofExtension: pathExtension) != nil || options.force else {
            throw GigHiveError(.unknownExtension, path: path, value: pathExtension)
        }
        var warnings: [UploadWarning] = []
        if sizeBytes + Self.formOverhead > Self.directBodyLimit {
            warnings.append(.aboveDirectLimit)
        }
        let declared = MediaType.declared(fileName: fileName, prefix: prefix)
        let contentType = declared?.mimeType ?? "application/octet-stream"
        if let declared, let sniffed = MediaType.sniffed(prefix), sniffed.kind != declared.kind {
            warnings.append(.typeMismatch(declared: declared.mimeType, sniffed: sniffed.mimeType))
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

extension FileIdentity {
    init(_ status: FileStatus) {
        self.init(
            device: status.device,
            inode: status.inode,
            size: status.size,
            modificationNanoseconds: status.modificationNanoseconds,
            changeNanoseconds: status.changeNanoseconds
        )
    }
}
