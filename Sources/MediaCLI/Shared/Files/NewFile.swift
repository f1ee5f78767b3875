internal import Glibc
internal import MediaFiles
internal import MediaSystem
internal import Outcomes

/// A report that is either complete or not created: written next to its target, flushed, then renamed. A link is kept
/// and its target replaced. Devices, pipes, and the file of standard output or standard error are written directly.
struct NewFile: Sendable {
    /// The kinds of reports. An existing file is replaced only if it is empty or a report of the same kind: the path
    /// may belong to a photo or video, for example in `--report *.mp4`.
    struct Kind: Sendable {
        static let upload = Kind(mark: "\"\(UploadReport.schema)\"", name: "an upload report")
        static let junit = Kind(mark: "<testsuites", name: "a JUnit report")

        /// Text that occurs at the beginning of every report of this kind.
        fileprivate let mark: String
        fileprivate let name: String
    }

    /// Number of bytes of an existing file that are examined.
    private static let prefixCount = 4096

    private let path: [UInt8]
    private let kind: Kind

    private enum Target {
        /// A report to create or to replace: the path without links.
        case file([UInt8])
        /// A device or a pipe, which must not be replaced; or the file to which standard output or standard error is
        /// redirected: replacing that file would lose what is written to it.
        case stream(standard: Int32?)
    }

    /// Checks the target, including by creating a temporary file there, to detect an unusable target before the work
    /// starts.
    init(replacing path: [UInt8], _ kind: Kind) throws(UserFacingError) {
        self.path = path
        self.kind = kind
        guard case .file(let target) = try currentTarget() else { return }
        do throws(FileWriteError) {
            try WholeFile.at(target, audience: .everyone).0.probe()
        } catch {
            throw Self.failure(path, error.detail)
        }
    }

    private func currentTarget() throws(UserFacingError) -> Target {
        var status = stat()
        guard stat(path.cString, &status) == 0 else { return .file(path) }
        let key = FileIdentity.Key(FileIdentity(status))
        let standard = [STDOUT_FILENO, STDERR_FILENO].first { descriptor in
            FileIdentity(descriptor: descriptor).map(FileIdentity.Key.init) == key
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: throw Self.failure(path, SystemError.words(EISDIR))
        case S_IFREG where standard == nil:
            if status.st_size > 0 { try Self.check(path, kind) }
            return .file(Self.resolved(path))
        default:
            guard access(path.cString, W_OK) == 0 else { throw Self.failure(path, SystemError.words(errno)) }
            return .stream(standard: standard)
        }
    }

    /// Throws unless a file is a report of the given kind.
    private static func check(_ path: [UInt8], _ kind: Kind) throws(UserFacingError) {
        let start: [UInt8]
        do {
            start = try SourceFile(checking: path).prefix(prefixCount)
        } catch {
            throw failure(path, error.reason)
        }
        guard String(decoding: start, as: UTF8.self).contains(kind.mark) else {
            throw UserFacingError(
                .reportFailed,
                "\(ErrorCatalog.quoted(path)) exists and is not \(kind.name); it was not changed",
                hint: "choose another name for the report"
            )
        }
    }

    private static func resolved(_ path: [UInt8]) -> [UInt8] {
        guard let resolved = realpath(path.cString, nil) else { return path }
        defer { free(resolved) }
        return UnsafeBufferPointer(start: resolved, count: strlen(resolved)).map(UInt8.init(bitPattern:))
    }

    /// Creates the file with the permissions of the umask, because it does not contain a secret.
    ///
    /// - Throws: `UserFacingError` with code `report_failed`; a regular file is unchanged, unless only the sync failed.
    func write(_ text: String) throws(UserFacingError) {
        // The path may refer to a different file by now.
        switch try currentTarget() {
        case .stream(let standard): try writeStream(text, standard)
        case .file(let target):
            do throws(FileWriteError) {
                let (file, name) = try WholeFile.at(target, audience: .everyone)
                try file.write(Array(text.utf8), as: name, replacing: true)
            } catch {
                throw Self.failure(path, error.detail)
            }
        }
    }

    private func writeStream(_ text: String, _ standard: Int32?) throws(UserFacingError) {
        // If the file were opened again, it would be overwritten from its beginning.
        let descriptor = standard.map { dup($0) } ?? open(path.cString, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.failure(path, SystemError.words(errno)) }
        defer { close(descriptor) }
        let output = Output(descriptor)
        output.write(text)
        if let code = output.failure { throw Self.failure(path, SystemError.words(code)) }
    }

    private static func failure(_ path: [UInt8], _ words: String) -> UserFacingError {
        UserFacingError(.reportFailed, "cannot write \(ErrorCatalog.quoted(path)): \(words)")
    }
}

extension PartialFile {
    /// Replaces the file with this name by one that contains `text` and that only its owner can read, or keeps it if
    /// `text` returns nil. No temporary file is left behind, even after an error. Other processes wait until the file
    /// is replaced or kept; `text` must read the file again, to preserve changes made by other processes.
    ///
    /// - Returns: Whether the file was replaced.
    /// - Throws: `FileWriteError`, `.busy` after 2 seconds; errors from `text`.
    static func replace(
        _ name: String,
        in directory: TargetDirectory,
        with text: () throws -> String?
    ) throws -> Bool {
        let file = try locked(name, in: directory)
        do {
            guard let text = try text() else {
                try file.discard()
                return false
            }
            try file.write(all: Array(text.utf8))
            try file.makePrivate()
            try file.publish(replacing: Array(name.utf8))
            return true
        } catch {
            try? file.discard()
            throw error
        }
    }

    /// Waits for the lock, which other processes hold for a few milliseconds.
    private static func locked(_ name: String, in directory: TargetDirectory) throws(FileWriteError) -> PartialFile {
        for _ in 0..<200 {
            do {
                return try PartialFile.open(".\(name).new", in: directory)
            } catch  where error.kind == .busy {
                usleep(10_000)
            }
        }
        throw FileWriteError(.busy, path: directory.path(of: Array(name.utf8)))
    }
}

/// A new file with private data, such as delete tokens: mode 0600, and either complete and flushed to disk or not
/// created.
enum ExportFile {
    /// Writes lines as `write(to:until:_:)` does.
    static func write(_ lines: [[UInt8]], to path: [UInt8], until interruption: Interruption) async throws {
        var rest: [UInt8]? = lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        try await write(to: path, until: interruption) {
            defer { rest = nil }
            return rest
        }
    }

    /// Writes the chunks returned by `nextBytes`, until it returns nil. A signal takes effect after everything is
    /// written.
    ///
    /// - Throws: `UserFacingError`, and errors from `nextBytes`; no file is left behind, unless only the sync failed,
    ///   and an existing file is unchanged.
    static func write(
        to path: [UInt8],
        until interruption: Interruption,
        _ nextBytes: () throws -> [UInt8]?
    ) async throws {
        try await interruption.handling({ _ in }) {
            do {
                let (file, name) = try WholeFile.at(path, audience: .owner)
                try file.write(as: name, replacing: false, nextBytes)
            } catch let error as FileWriteError {
                throw userFacingError(of: error, path)
            }
        }
    }

    static func exists(_ path: [UInt8]) -> UserFacingError {
        UserFacingError(
            .targetExists,
            "\(ErrorCatalog.quoted(path)) already exists; it was not changed",
            hint: "choose another name"
        )
    }

    /// The error for a full disk, after the incomplete file was removed.
    static func diskFull(_ path: [UInt8]) -> UserFacingError {
        UserFacingError(
            .diskFull,
            "no space left for \(ErrorCatalog.quoted(path))",
            hint: "free some space, or choose another directory; the incomplete file was removed"
        )
    }

    /// The error for a failed write, after an incomplete file was removed.
    static func userFacingError(of error: FileWriteError, _ path: [UInt8]) -> UserFacingError {
        let name = ErrorCatalog.quoted(path)
        return switch error.kind {
        case .exists: exists(path)
        case .full: diskFull(path)
        case .io(errno: EIO):
            UserFacingError(
                .outputFailed,
                "cannot write \(name): \(error.detail)",
                hint: "choose another directory; the incomplete file was removed"
            )
        case .unsynced:
            UserFacingError(
                .outputFailed,
                "cannot write \(name): \(error.detail)",
                hint: "copy it to another disk: it may be lost in a crash"
            )
        case .denied, .busy, .unsafe, .io:
            UserFacingError(.outputUnusable, "cannot create \(name): \(error.detail)")
        }
    }
}
