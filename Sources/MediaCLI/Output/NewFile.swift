internal import Foundation

/// A file that appears whole or not at all: written beside its place, flushed, then renamed.
struct NewFile: Sendable {
    private let path: [UInt8]
    private let temporary: [UInt8]
    private let descriptor: Int32

    /// Prepares the place, so that a directory that takes no file is known before the work begins. The file is readable
    /// by its owner only.
    ///
    /// - Parameter path: Where it will be; a file that is there is replaced.
    /// - Throws: `Diagnosis` (usage).
    init(replacing path: [UInt8]) throws(Diagnosis) {
        self.path = path
        temporary = path + Array(".part-\(getpid())".utf8)
        descriptor = open(Self.c(temporary), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        var status = stat()
        if stat(Self.c(path), &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            discard()
            throw Self.failure(path, EISDIR)
        }
    }

    /// Gives the file its content and its name, once.
    ///
    /// - Throws: `Diagnosis` with code `report_failed`.
    func write(_ text: String) throws(Diagnosis) {
        let output = Output(descriptor)
        output.write(text)
        guard output.failure == nil, fsync(descriptor) == 0, rename(Self.c(temporary), Self.c(path)) == 0 else {
            let code = output.failure ?? errno
            discard()
            throw Self.failure(path, code)
        }
        close(descriptor)
    }

    /// Leaves nothing behind.
    func discard() {
        close(descriptor)
        unlink(Self.c(temporary))
    }

    private static func c(_ path: [UInt8]) -> [CChar] { path.map(CChar.init(bitPattern:)) + [0] }

    private static func failure(_ path: [UInt8], _ code: Int32) -> Diagnosis {
        Diagnosis(
            "report_failed",
            "cannot write \(ErrorCatalogue.quoted(path)): \(String(cString: strerror(code)).lowercased())",
            exitCode: .usage
        )
    }
}
