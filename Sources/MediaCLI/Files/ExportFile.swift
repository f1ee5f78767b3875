internal import Glibc
internal import MediaFiles
internal import MediaSystem

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
        let name = path.nameOfPath
        guard !name.isEmpty else { throw FileWriteError(.io(errno: EISDIR), path: path) }
        guard let directory = try TargetDirectory.open(path.directoryOfPath, creating: false) else {
            throw FileWriteError(.io(errno: ENOENT), path: path)
        }
        try WholeFile(in: directory, audience: .owner).write(as: name, replacing: false, nextBytes)
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
