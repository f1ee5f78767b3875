internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaSystem

/// A file to add to a tape.
struct TapeInput: Sendable {
    var path: [UInt8]
    /// Length and SHA-256 of the bytes that were uploaded from the file; nil if unknown.
    var uploaded: (size: Int64, sha256: String)?

    init(_ path: [UInt8], size: Int64? = nil, sha256: String? = nil) {
        self.path = path
        if let size, let sha256 { uploaded = (size, sha256) }
    }
}

/// Files that were uploaded from this machine, from the upload's output, its report, or the journal.
struct UploadedFiles: Sendable {
    let console: Console
    let store: TokenStore

    /// States of an upload whose file is on the server.
    private static let onServer: Set<UploadState> = [.done, .linked, .duplicate, .tokenLost, .finalized]

    // MARK: Journal

    /// The files of uploads, by their ID on the server or in the journal.
    ///
    /// - Throws: `UserFacingError` for an unknown upload, one without a file, or a number on several servers;
    ///   `StoreError`.
    func named(_ ids: [String]) throws -> [TapeInput] {
        try ids.map { id in
            let record =
                if let number = Int64(id) {
                    try upload(ofFile: number)
                } else {
                    try store.upload(named: id)
                }
            guard let record else {
                throw UserFacingError(
                    .unknownUpload,
                    "no upload \(ErrorCatalog.quoted(id)) in the journal",
                    hint: "to list uploads: mediactl uploads list"
                )
            }
            return try input(record)
        }
    }

    /// The newest upload of the file with this ID on its server.
    private func upload(ofFile fileID: Int64) throws -> UploadRecord? {
        let records = try store.uploads(fileID: fileID, host: nil).filter { Self.onServer.contains($0.state) }
        let newest = records.uniqued { $0.host }
        guard newest.count < 2 else {
            throw UserFacingError.severalServers(
                have: fileID,
                newest.map { "\(ErrorCatalog.clean($0.baseURL)) (\($0.uploadID))" },
                hint: "specify the upload, for example: --uploaded \(newest[0].uploadID)"
            )
        }
        return newest.first
    }

    /// The most recently uploaded file.
    ///
    /// - Throws: `UserFacingError` if there is no such file; `StoreError`.
    func last() throws -> [TapeInput] {
        guard let record = try store.uploads(states: Self.onServer, host: nil).first else {
            throw UserFacingError(.unknownUpload, "nothing was uploaded from this machine")
        }
        return [try input(record)]
    }

    private func input(_ record: UploadRecord) throws(UserFacingError) -> TapeInput {
        guard Self.onServer.contains(record.state) else {
            throw .usage("\(ErrorCatalog.quoted(record.path)) was not uploaded (state: \(record.state.rawValue))")
        }
        guard let identity = record.identity else {
            throw .usage("\(ErrorCatalog.quoted(record.path)) was standard input, not a file")
        }
        // The journal written by 0.1.0 does not record directories; a relative path leads to this file from only one
        // directory.
        guard !record.isDirectoryUnknown || Self.is(record.path, identity) else {
            throw .usage(
                "\(ErrorCatalog.quoted(record.path)) is not the uploaded file, relative to the current directory",
                hint: "specify the file itself, or change to the directory of the upload"
            )
        }
        return TapeInput(record.path, size: record.sizeBytes, sha256: record.checksumSHA256)
    }

    private static func `is`(_ path: [UInt8], _ identity: FileIdentity) -> Bool {
        var status = stat()
        guard stat(path.cString, &status) == 0 else { return false }
        return UInt64(status.st_ino) == identity.inode && UInt64(status.st_dev) == identity.device
    }

    // MARK: Output and reports

    private static func isOnServer(_ item: ReportedUpload) -> Bool {
        item.state.flatMap(UploadState.init(rawValue:)).map { onServer.contains($0) } ?? false
    }

    /// The files on the server according to a report from `--report` or the records from `upload --json`. `name` is
    /// used in messages. Relative paths are relative to the current directory.
    ///
    /// - Throws: `UserFacingError` (usage) for other input; `StoreError`.
    func read(_ bytes: [UInt8], name: String) throws -> [TapeInput] {
        if let report = ReportDocument(bytes) {
            return try report.items.filter(Self.isOnServer).compactMap {
                try input($0, from: report.workingDirectory)
            }
        }
        var inputs: [TapeInput] = []
        var isUpload = false
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let item = ReportedUpload(JSONReader.value(of: line)), let schema = item.schema else {
                throw notOurs(name)
            }
            isUpload = isUpload || schema == Upload.schema || schema == UploadsResume.schema
            guard item.type == "item", Self.isOnServer(item) else { continue }
            if let input = try input(item, from: nil) {
                inputs.append(input)
            }
        }
        guard isUpload else { throw notOurs(name) }
        return inputs
    }

    /// Text cannot represent every path; for uploads in the journal, the exact bytes are read from there.
    private func input(_ item: ReportedUpload, from directory: String?) throws -> TapeInput? {
        guard let text = item.path, text != "-" else {
            console.warning("skipped an upload from standard input, which is not a file")
            return nil
        }
        let exact = item.exactBytes
        let kept =
            exact == nil && text.contains("\u{fffd}") ? try item.uploadID.flatMap { try store.upload($0)?.path } : nil
        var path = exact ?? kept ?? Array(text.utf8)
        if let directory, directory != console.context.workingDirectory { path = path.prefixed(with: directory) }
        return TapeInput(path, size: item.sizeBytes, sha256: item.checksumSHA256)
    }

    private func notOurs(_ name: String) -> UserFacingError {
        .usage(
            "--from-upload: \(name == "-" ? "standard input" : ErrorCatalog.quoted(RawArguments.bytes(of: name))) "
                + "is neither the output of mediactl upload --json nor an upload report",
            hint: "mediactl upload FILE --json | mediactl tapes add TAPE --from-upload -"
        )
    }
}

extension UploadedFiles {
    /// All files specified by the options of `add` and `insert`.
    static func paths(
        _ files: [String],
        _ input: TapeInputOptions,
        session: TapesSession
    ) async throws -> [TapeInput] {
        let console = session.console
        let paths = files.map { RawArguments.bytes(of: $0) } + (try await input.fileLists.paths(in: console.context))
        var inputs = paths.map { TapeInput($0) }
        guard input.fromUpload != nil || !input.uploaded.isEmpty || input.uploadedLast else { return inputs }
        let source: [UInt8]? =
            if let name = input.fromUpload {
                // A pipe ends when the upload is complete, so the journal is opened afterwards.
                try await InputFile.bytes(name, flag: "--from-upload", in: console.context)
            } else { nil }
        let uploads = UploadedFiles(console: console, store: try await StoreSession.open(session.settings).store)
        if let source, let name = input.fromUpload {
            inputs += try uploads.read(source, name: name)
        }
        inputs += try uploads.named(input.uploaded)
        return try inputs + (input.uploadedLast ? uploads.last() : [])
    }
}
