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
