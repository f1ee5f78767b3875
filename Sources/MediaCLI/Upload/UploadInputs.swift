internal import GigHive
internal import MediaFiles

/// Collects the inputs of an upload: paths, directories, lists, a manifest, a report.
struct InputCollection: Sendable {
    let paths: [String]
    let options: InputOptions
    /// nil for all inputs.
    let shard: ShardChoice?
    /// Whether to include non-media files.
    let takesEverything: Bool
    let console: Console

    /// All inputs in the given order, `manifest` included; files in a directory are sorted by name.
    func inputs(with manifest: UploadManifest?) async throws -> [UploadInput] {
        let filter = try options.filter()
        var given = paths.map { argument in
            let name = argument == "-" ? options.stdinName : nil
            return UploadInput(path: RawArguments.bytes(of: argument), standardInputName: name)
        }
        given += try await options.fileLists.paths(in: console.context).map { UploadInput(path: $0) }
        given += manifest?.inputs ?? []
        if let name = options.retryFailed { given += try await report(name) }
        var inputs: [UploadInput] = []
        var walks: [FileWalk.Result] = []
        for input in given {
            var found = [input]
            if options.recursive, input.mayBeDirectory, FileWalk.isDirectory(input.path) {
                let walk = FileWalk(filter: filter).files(below: input.path)
                found = files(of: walk, below: input.path)
                walks.append(walk)
            }
            for var input in found {
                input.number = inputs.count + 1
                inputs.append(input)
            }
        }
        for link in FileWalk.unreadLinks(of: walks) {
            console.note(
                "skipped \(ErrorCatalog.quoted(link)): a link to a directory; to upload its files, specify it"
            )
        }
        guard let shard, options.watch == nil else { return inputs }
        let own = inputs.filter { shard.shard.contains($0.path) }
        console.note("\(shard.words): \(own.count) of \(Formats.count(inputs.count, "file"))")
        return own
    }

    private func files(of result: FileWalk.Result, below path: [UInt8]) -> [UploadInput] {
        let media = result.files.filter { takesEverything || Self.isMedia($0.path) }
        let unreadable = result.skipped.filter { takesEverything || $0.isDirectory || Self.isMedia($0.path) }
        let others = result.files.count + result.skipped.count - media.count - unreadable.count
        if others > 0 {
            let count = Formats.count(others, "file")
            console.note(
                "skipped \(count) in \(ErrorCatalog.quoted(path)): not audio or video; to include: --any-extension"
            )
        }
        return media.map { UploadInput(path: $0.path, origin: .found) }
            + unreadable.map { UploadInput(path: $0.path, origin: .found, unreadable: $0.reason) }
    }

    private static func isMedia(_ path: [UInt8]) -> Bool {
        let name = path.fileName
        let type = MediaType.named(byExtension: MediaType.pathExtension(of: name))
        return type?.kind == .audio || type?.kind == .video
    }

    // MARK: Lists

    /// nil without `--manifest`.
    func manifest() async throws -> UploadManifest? {
        guard let name = options.manifest else { return nil }
        let bytes = try await InputFile.bytes(name, flag: "--manifest", in: console.context)
        let format = Manifest.format(fileName: name, firstBytes: Array(bytes.prefix(64)))
        let (rows, errors) = Manifest.rowsAndErrors(in: bytes, as: format)
        let inputs = rows.map { row in
            UploadInput(path: Array(row.path.utf8), origin: .manifest(line: row.line), fields: row.fields)
        }
        return UploadManifest(name: name, inputs: inputs, errors: errors.map(ManifestError.init))
    }

    private func report(_ name: String) async throws -> [UploadInput] {
        let bytes = try await InputFile.bytes(name, flag: "--retry-failed", in: console.context)
        let report = try ReportDocument(reading: bytes, name: name)
        let inputs = report.inputs(from: console.context.workingDirectory)
        if report.unreadableCount > 0 {
            console.warning("the standard input of that run cannot be retried from its report")
        }
        console.note("\(Formats.count(inputs.count, "file")) of \(report.items.count) failed in that run")
        return inputs
    }
}

struct UploadInput: Sendable, Equatable {
    /// The origin of the input.
    enum Origin: Sendable, Equatable {
        /// From the command line or a list.
        case named
        /// Found in a directory.
        case found
        case manifest(line: Int)
        /// From the report of an earlier run.
        case report
    }

    var path: [UInt8]
    /// The name for standard input, whose path is `-`.
    var standardInputName: String?
    var origin = Origin.named
    /// Number among all inputs, including those of other shards, from 1; used for `{n}` in labels.
    var number = 0
    /// Details from a manifest or a report, keyed by field name.
    var fields: [String: String] = [:]
    /// The system error for a directory or file that could not be read; nothing is sent for it.
    var unreadable: String?

    /// The last component of the path, or the specified name of standard input.
    var fileName: String { standardInputName ?? path.fileName }

    /// Whether flags take precedence over the input's own fields: the details in a report come from the earlier run and
    /// may have caused its failure.
    var prefersFlags: Bool { origin == .report }

    /// Whether the path may be a directory whose files are to be uploaded. A manifest lists only files; a report may
    /// also list directories that could not be read.
    fileprivate var mayBeDirectory: Bool {
        if case .manifest = origin { false } else { standardInputName == nil }
    }
}

/// A manifest.
struct UploadManifest: Sendable {
    let name: String
    let inputs: [UploadInput]
    /// The rows that cannot be used, with the reasons.
    let errors: [ManifestError]
}

/// An invalid row of a manifest, with the reason.
struct ManifestError: Sendable {
    var line: Int
    var words: String
}

extension UserFacingError {
    /// A single error for all invalid rows in a manifest, which can then be fixed together. Nothing is sent.
    static func invalidManifest(_ name: String, _ errors: [ManifestError]) -> UserFacingError {
        let file = name == "-" ? "the manifest" : "the manifest \(ErrorCatalog.quoted(RawArguments.bytes(of: name)))"
        var userFacingError = UserFacingError(
            .invalidManifest,
            "\(file) has \(Formats.count(errors.count, "error")); nothing was sent",
            hint: "fix them and run the same command again"
        )
        userFacingError.details = errors.map { "line \($0.line): \($0.words)" }
        return userFacingError
    }
}

extension ManifestError {
    init(_ rowError: Manifest.RowError) {
        let column = rowError.column.map { "\(ErrorCatalog.clean($0)): " } ?? ""
        let nearest = rowError.column.flatMap { name in
            Manifest.columns.contains(name) ? nil : Spelling.nearest(to: name, among: Manifest.columns)
        }
        let reason = nearest.map { "unknown column; did you mean \($0)?" } ?? ErrorCatalog.clean(rowError.reason)
        self.init(line: rowError.line, words: column + reason)
    }
}
