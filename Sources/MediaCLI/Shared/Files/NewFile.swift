internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// A file that appears whole or not at all: written beside its place, flushed, then renamed. A link stays one, and what
/// it leads to is replaced. Devices and pipes, such as `/dev/null` and `/dev/stdout`, are written to.
struct NewFile: Sendable {
    private let path: [UInt8]
    /// Whether there is something at the path that no file may take the place of.
    private let isStream: Bool

    /// Tries the place, so that one that takes no file is known before the work begins. Leaves nothing there.
    ///
    /// - Parameter path: Where it will be; a file that is there is replaced.
    /// - Throws: `Diagnosis` (usage).
    init(replacing path: [UInt8]) throws(Diagnosis) {
        var status = stat()
        let exists = stat(path.cString, &status) == 0
        let kind = status.st_mode & S_IFMT
        if exists, kind == S_IFDIR { throw Self.failure(path, SystemError.words(EISDIR)) }
        isStream = exists && kind != S_IFREG
        self.path = exists && !isStream ? Self.resolved(path) : path
        if isStream {
            guard access(path.cString, W_OK) == 0 else { throw Self.failure(path, SystemError.words(errno)) }
        } else {
            do throws(FileWriteError) {
                try WholeFile.at(self.path, audience: .everybody).0.probe()
            } catch {
                throw Self.failure(path, error.detail)
            }
        }
    }

    /// Where a path leads, links followed.
    private static func resolved(_ path: [UInt8]) -> [UInt8] {
        guard let resolved = realpath(path.cString, nil) else { return path }
        defer { free(resolved) }
        return UnsafeBufferPointer(start: resolved, count: strlen(resolved)).map(UInt8.init(bitPattern:))
    }

    /// Creates the file with the permissions of the umask, because it contains no secret.
    ///
    /// - Throws: `Diagnosis` with code `report_failed`; nothing is there then but what was there before.
    func write(_ text: String) throws(Diagnosis) {
        guard !isStream else { return try writeStream(text) }
        do throws(FileWriteError) {
            let (file, name) = try WholeFile.at(path, audience: .everybody)
            try file.write(Array(text.utf8), as: name, replacing: true)
        } catch {
            throw Self.failure(path, error.detail)
        }
    }

    private func writeStream(_ text: String) throws(Diagnosis) {
        let descriptor = open(path.cString, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.failure(path, SystemError.words(errno)) }
        defer { close(descriptor) }
        let output = Output(descriptor)
        output.write(text)
        if let code = output.failure { throw Self.failure(path, SystemError.words(code)) }
    }

    private static func failure(_ path: [UInt8], _ words: String) -> Diagnosis {
        Diagnosis("report_failed", "cannot write \(ErrorCatalogue.quoted(path)): \(words)", exitCode: .usage)
    }
}

/// A new file with delete tokens: 0600, whole and on the disk, or not there.
enum ExportFile {
    /// Writes lines. A signal waits until they are written.
    ///
    /// - Throws: As below.
    static func write(_ lines: [[UInt8]], to path: [UInt8], until interruption: Interruption) async throws {
        var rest: [UInt8]? = lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        try await write(to: path, until: interruption) {
            defer { rest = nil }
            return rest
        }
    }

    /// Writes what comes in pieces. A signal waits until all of it is written.
    ///
    /// - Parameters:
    ///   - path: Of the new file.
    ///   - interruption: What a signal goes to.
    ///   - nextBytes: Returns the next piece, and nil after the last.
    /// - Throws: `Diagnosis`, and what `nextBytes` throws; nothing is left behind then, and a file that was there is as it
    ///   was.
    static func write(
        to path: [UInt8],
        until interruption: Interruption,
        _ nextBytes: () throws -> [UInt8]?
    ) async throws {
        try await interruption.handling({ _ in }) {
            do {
                try write(to: path, nextBytes)
            } catch let error as FileWriteError {
                throw diagnosis(of: error, path)
            }
        }
    }

    private static func write(to path: [UInt8], _ nextBytes: () throws -> [UInt8]?) throws {
        let (file, name) = try WholeFile.at(path, audience: .owner)
        try file.write(as: name, replacing: false, nextBytes)
    }

    /// A file that is there stays as it is.
    static func exists(_ path: [UInt8]) -> Diagnosis {
        Diagnosis(
            "target_exists",
            "\(ErrorCatalogue.quoted(path)) already exists; it was not changed",
            hint: "choose another name",
            exitCode: .conflict
        )
    }

    /// A full disk; the incomplete file was removed.
    static func diskFull(_ path: [UInt8]) -> Diagnosis {
        Diagnosis(
            "disk_full",
            "no space left for \(ErrorCatalogue.quoted(path))",
            hint: "free some space, or choose another place; the incomplete file was removed",
            exitCode: .store
        )
    }

    /// The error in words; the incomplete file was removed.
    static func diagnosis(of error: FileWriteError, _ path: [UInt8]) -> Diagnosis {
        let name = ErrorCatalogue.quoted(path)
        return switch error.kind {
        case .exists: exists(path)
        case .full: diskFull(path)
        case .io(errno: EIO):
            Diagnosis(
                "output_failed",
                "cannot write \(name): \(SystemError.words(EIO))",
                hint: "choose another place; the incomplete file was removed",
                exitCode: .failure
            )
        case .io(let code):
            Diagnosis("output_unusable", "cannot create \(name): \(SystemError.words(code))", exitCode: .usage)
        case .denied, .busy, .unsafe:
            Diagnosis("output_unusable", "cannot create \(name): \(error.detail)", exitCode: .usage)
        }
    }
}
