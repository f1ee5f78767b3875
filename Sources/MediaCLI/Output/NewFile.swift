internal import Foundation

/// A file that appears whole or not at all: written beside its place, flushed, then renamed.
struct NewFile: Sendable {
    private let path: [UInt8]
    private let temporary: [UInt8]

    /// Tries the place, so that one that takes no file is known before the work begins. Leaves nothing there.
    ///
    /// - Parameter path: Where it will be; a file that is there is replaced.
    /// - Throws: `Diagnosis` (usage).
    init(replacing path: [UInt8]) throws(Diagnosis) {
        self.path = path
        temporary = path + Array(".part-\(getpid())".utf8)
        var status = stat()
        if stat(Self.c(path), &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw Self.failure(path, EISDIR)
        }
        let descriptor = try opened()
        close(descriptor)
        unlink(Self.c(temporary))
    }

    /// Makes the file, readable by its owner only.
    ///
    /// - Throws: `Diagnosis` with code `report_failed`; nothing is there then but what was there before.
    func write(_ text: String) throws(Diagnosis) {
        let descriptor = try opened()
        defer { close(descriptor) }
        let output = Output(descriptor)
        output.write(text)
        guard output.failure == nil, fsync(descriptor) == 0, rename(Self.c(temporary), Self.c(path)) == 0 else {
            let code = output.failure ?? errno
            unlink(Self.c(temporary))
            throw Self.failure(path, code)
        }
    }

    private func opened() throws(Diagnosis) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(Self.c(temporary), flags, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        return descriptor
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
