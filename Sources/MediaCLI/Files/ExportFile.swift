internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// A new file with delete tokens: 0600, whole and on the disk, or not there.
enum ExportFile {
    /// Writes lines. A signal waits until they are written.
    ///
    /// - Throws: `Diagnosis`; nothing is left behind then, and a file that was there is as it was.
    static func write(_ lines: [[UInt8]], to path: [UInt8], until interruption: Interruption) async throws {
        let bytes = lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        try await interruption.handling({ _ in }) {
            do throws(FileWriteError) {
                try write(bytes, to: path)
            } catch {
                throw diagnosis(of: error, path)
            }
        }
    }

    private static func write(_ bytes: [UInt8], to path: [UInt8]) throws(FileWriteError) {
        let name = path.nameOfPath
        guard !name.isEmpty else { throw FileWriteError(.io(errno: EISDIR), path: path) }
        guard let directory = try TargetDirectory.open(path.directoryOfPath, creating: false) else {
            throw FileWriteError(.io(errno: ENOENT), path: path)
        }
        try WholeFile(in: directory, audience: .owner).write(bytes, as: name, replacing: false)
    }

    private static func diagnosis(of error: FileWriteError, _ path: [UInt8]) -> Diagnosis {
        let name = ErrorCatalogue.quoted(path)
        return switch error.kind {
        case .exists:
            Diagnosis(
                "target_exists",
                "\(name) already exists; it was not changed",
                hint: "choose another name",
                exitCode: .conflict
            )
        case .full, .io(errno: EIO):
            Diagnosis(
                "output_failed",
                "cannot write \(name): \(SystemError.words(error.kind == .full ? ENOSPC : EIO))",
                hint: "nothing was left behind; free some space, or choose another place",
                exitCode: .failure
            )
        case .io(let code):
            Diagnosis("output_unusable", "cannot create \(name): \(SystemError.words(code))", exitCode: .usage)
        case .denied, .busy, .unsafe:
            Diagnosis("output_unusable", "cannot create \(name): \(error.detail)", exitCode: .usage)
        }
    }
}
