internal import Foundation
internal import MediaSystem

/// Reads settings, password and netrc files, which are small texts. Secrets may also come from a FIFO or `<(command)`.
enum SmallFile {
    typealias Failure = WholeInput.Failure

    private static let limit = 1 << 20

    /// The text of a regular file that only this user and root can change: its settings may run programs
    /// (`password_command`) and select the trusted server.
    static func trustedText(atPath path: String) throws(Failure) -> String {
        let descriptor = try WholeInput.opened(Array(path.utf8))
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreign }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .writableByOthers }
        return try text(from: descriptor)
    }

    /// The text of a file of any kind. Canceling interrupts the wait for the writer of a FIFO.
    static func text(comingThrough path: String) async throws(Failure) -> String {
        let descriptor = try WholeInput.opened(Array(path.utf8))
        defer { close(descriptor) }
        return try await text(comingThrough: descriptor)
    }

    /// Reads to the end on a separate thread, since a pipe may be slow. Canceling stops the read.
    static func text(comingThrough descriptor: Int32) async throws(Failure) -> String {
        try await BlockingWork.runCancellable { isCancelled throws(Failure) in
            try text(from: descriptor, isCancelled: isCancelled)
        }
    }

    private static func text(from descriptor: Int32, isCancelled: () -> Bool = { false }) throws(Failure) -> String {
        let bytes = try WholeInput.all(from: descriptor, limit: limit, isCancelled: isCancelled)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    static func readableWarning(_ file: String) -> String {
        "\(file) contains a secret and can be read by other users; run: chmod 600 \(file)"
    }

    static func isReadableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_mode & (S_IRGRP | S_IROTH) != 0
    }
}
