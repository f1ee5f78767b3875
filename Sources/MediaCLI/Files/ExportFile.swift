internal import Foundation
internal import MediaSystem

/// A new file with delete tokens: 0600, whole and on the disk, or not there.
enum ExportFile {
    /// Writes lines. A signal waits until they are written, a second one removes what there is of the file.
    ///
    /// - Throws: `Diagnosis`; nothing is left behind then, and a file that was there is as it was.
    static func write(_ lines: [[UInt8]], to path: [UInt8], until interruption: Interruption) async throws {
        let name = path.cString
        let remove: @Sendable () -> Void = { unlink(name) }
        let descriptor = try create(name, path)
        defer { close(descriptor) }
        do {
            try await interruption.handling({ if $0.isFinal { remove() } }) {
                try write(lines, to: descriptor, path)
            }
        } catch {
            remove()
            throw error
        }
        synchronizeDirectory(of: path)
    }

    private static func create(_ name: [CChar], _ path: [UInt8]) throws(Diagnosis) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = open(name, flags, 0o600)
        guard descriptor < 0 else { return descriptor }
        let isThere = errno == EEXIST
        throw Diagnosis(
            "output_unusable",
            isThere
                ? "\(ErrorCatalogue.quoted(path)) exists already; it was left as it is"
                : "cannot create \(ErrorCatalogue.quoted(path)): \(SystemError.words(errno))",
            hint: isThere ? "choose another name" : nil,
            exitCode: .usage
        )
    }

    private static func write(_ lines: [[UInt8]], to descriptor: Int32, _ path: [UInt8]) throws(Diagnosis) {
        let output = Output(descriptor)
        // The umask may have taken the owner's own rights away.
        guard fchmod(descriptor, 0o600) == 0 else { throw failed(path, errno) }
        output.write(lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
        if let failure = output.failure { throw failed(path, failure) }
        guard fsync(descriptor) == 0 else { throw failed(path, errno) }
    }

    private static func failed(_ path: [UInt8], _ code: Int32) -> Diagnosis {
        Diagnosis(
            "output_failed",
            "cannot write \(ErrorCatalogue.quoted(path)): \(SystemError.words(code))",
            hint: "nothing was left behind; free some space, or choose another place",
            exitCode: .failure
        )
    }

    /// The name is to survive a power cut too; a directory that cannot be read has an owner who takes care of that.
    private static func synchronizeDirectory(of path: [UInt8]) {
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let directory = slash.map { $0 == 0 ? [UInt8(ascii: "/")] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let descriptor = open(directory.cString, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
