internal import GigHive
internal import MediaFiles

/// Puts together what an upload was asked to send: paths, directories, lists, a manifest, a report.
struct InputCollection: Sendable {
    let paths: [String]
    let options: InputOptions
    /// The part that is wanted; nil for all.
    let shard: ShardChoice?
    /// Whether files that are no media are wanted as well.
    let takesEverything: Bool
    let console: Console

    /// What was collected.
    struct Inputs: Sendable {
        /// In the order they are named; of a directory in the order of their names.
        var list: [UploadInput]
        /// What the manifest says that cannot be read; what it says of its files is checked with them.
        var manifestFaults: [ManifestFaults.Fault] = []
    }

    /// Reads lists and directories.
    ///
    /// - Throws: `Diagnosis` for a list that cannot be read.
    func inputs() async throws -> Inputs {
        let filter = try options.filter()
        var faults: [ManifestFaults.Fault] = []
        var inputs = paths.flatMap { named($0, filter) }
        inputs += try await options.fileLists.paths(in: console.context).flatMap { expanded($0, filter) }
        if let name = options.manifest {
            let manifest = try await manifest(name)
            inputs += manifest.list
            faults = manifest.manifestFaults
        }
        if let name = options.retryFailed {
            inputs += try await report(name).flatMap { retried($0, filter) }
        }
        for index in inputs.indices {
            inputs[index].number = index + 1
        }
        return Inputs(list: part(of: inputs), manifestFaults: faults)
    }

    // MARK: Paths and directories

    private func named(_ argument: String, _ filter: PathFilter) -> [UploadInput] {
        if argument == "-", let name = options.stdinName {
            return [UploadInput(source: .standardInput(name: name))]
        }
        return expanded(RawArguments.bytes(of: argument), filter)
    }

    private func expanded(_ path: [UInt8], _ filter: PathFilter) -> [UploadInput] {
        guard options.recursive, FileWalk.isDirectory(path) else {
            return [UploadInput(source: .file(path))]
        }
        let result = FileWalk(filter: filter).files(below: path)
        let media = result.files.filter { takesEverything || Self.isMedia($0.path) }
        if media.count < result.files.count {
            let count = Formats.count(result.files.count - media.count, "file")
            console.note(
                "skipped \(count) without a media extension in \(ErrorCatalogue.quoted(path)); use --any-extension"
            )
        }
        return media.map { UploadInput(source: .file($0.path), origin: .found) }
            + result.skipped.map { UploadInput(source: .file($0.path), origin: .found, unreadable: $0.reason) }
    }

    private static func isMedia(_ path: [UInt8]) -> Bool {
        let name = path.fileName
        let type = MediaType.named(byExtension: MediaType.pathExtension(of: name))
        return type?.kind == .audio || type?.kind == .video
    }

    // MARK: Lists

    private func manifest(_ name: String) async throws -> Inputs {
        let bytes = try await InputFile.bytes(name, flag: "--manifest", in: console.context)
        let format = Manifest.format(fileName: name, firstBytes: Array(bytes.prefix(64)))
        let (rows, faults) = Manifest.rowsAndFaults(in: bytes, as: format)
        let list = rows.map { row in
            UploadInput(
                source: .file(Array(row.path.utf8)),
                origin: .manifest(line: row.line),
                fields: row.fields
            )
        }
        return Inputs(list: list, manifestFaults: faults.map(ManifestFaults.Fault.init))
    }

    private func report(_ name: String) async throws -> [UploadInput] {
        let bytes = try await InputFile.bytes(name, flag: "--retry-failed", in: console.context)
        let report = try PastReport(reading: bytes, name: name)
        let inputs = report.inputs(from: console.context.workingDirectory)
        if report.unreadableCount > 0 {
            console.warning("the standard input of that run cannot be retried from its report")
        }
        console.note("\(Formats.count(inputs.count, "file")) of \(report.itemCount) failed in that run")
        return inputs
    }

    /// What a report names: a directory that could not be read then is walked now, as it was to be.
    private func retried(_ input: UploadInput, _ filter: PathFilter) -> [UploadInput] {
        guard options.recursive, FileWalk.isDirectory(input.path) else { return [input] }
        return expanded(input.path, filter)
    }

    // MARK: Sharing

    private func part(of inputs: [UploadInput]) -> [UploadInput] {
        guard let shard, options.watch == nil else { return inputs }
        let own = inputs.filter { shard.shard.contains($0.path) }
        console.note("\(shard.words): \(own.count) of \(Formats.count(inputs.count, "file"))")
        return own
    }
}

/// One thing to upload, before anything about it has been checked.
struct UploadInput: Sendable, Equatable {
    /// What is read.
    enum Source: Sendable, Equatable {
        case file([UInt8])
        case standardInput(name: String)
    }

    /// Where the input was named.
    enum Origin: Sendable, Equatable {
        /// On the command line or in a list.
        case named
        /// In a directory.
        case found
        /// At this line of a manifest.
        case manifest(line: Int)
        /// In the report of an earlier run.
        case report
    }

    var source: Source
    var origin = Origin.named
    /// Number among all inputs, those of other shards included, from 1; the `{n}` of labels.
    var number = 0
    /// What a manifest or a report tells about it, by the upload's field names.
    var fields: [String: String] = [:]
    /// The system's words for a directory that could not be read; there is nothing to send then.
    var unreadable: String?

    /// The path as given.
    var path: [UInt8] {
        switch source {
        case .file(let path): path
        case .standardInput: Array("-".utf8)
        }
    }

    /// The last component of the path, or the name given for standard input.
    var fileName: String {
        switch source {
        case .file(let path): path.fileName
        case .standardInput(let name): name
        }
    }

    /// Whether what the command line says comes before what the input's own fields say: a report holds what was told the
    /// last time, which may have been the fault.
    var prefersFlags: Bool { origin == .report }
}

/// Everything that is wrong with a manifest, so that it is put right in one go.
struct ManifestFaults: Sendable {
    struct Fault: Sendable, Equatable {
        var line: Int
        var words: String
    }

    var name: String
    var faults: [Fault]

    /// One error for all of them. Nothing is sent.
    var diagnosis: Diagnosis {
        let file = name == "-" ? "the manifest" : "the manifest \(ErrorCatalogue.quoted(RawArguments.bytes(of: name)))"
        var diagnosis = Diagnosis(
            .invalidManifest,
            "\(file) has \(Formats.count(faults.count, "error")); nothing was sent",
            hint: "fix them and run the same command again"
        )
        diagnosis.details = faults.map { "line \($0.line): \($0.words)" }
        return diagnosis
    }
}

extension ManifestFaults.Fault {
    init(_ fault: ManifestError.Fault) {
        let column = fault.column.map { "\(ErrorCatalogue.clean($0)): " } ?? ""
        let nearest = fault.column.flatMap { name in
            Manifest.columns.contains(name) ? nil : Spelling.nearest(to: name, among: Manifest.columns)
        }
        let reason = nearest.map { "unknown column; did you mean \($0)?" } ?? ErrorCatalogue.clean(fault.reason)
        self.init(line: fault.line, words: column + reason)
    }
}
