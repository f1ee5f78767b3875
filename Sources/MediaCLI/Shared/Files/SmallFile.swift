internal import Foundation
internal import MediaSystem
internal import Synchronization

/// Settings, password and netrc files: small texts. Secrets may also come from a FIFO or `<(command)`.
enum SmallFile {
    enum Failure: Error, Equatable {
        case missing
        case system(Int32)
        case tooLarge
        case notUTF8
        case notRegular
        case foreign
        case writableByOthers
        case cancelled

        /// Lower case, no full stop.
        var reason: String {
            switch self {
            case .missing: "no such file"
            case .system(let code): SystemError.words(code)
            case .tooLarge: "it is larger than 1 MiB"
            case .notUTF8: "it is not UTF-8"
            case .notRegular: "it is not a regular file"
            case .foreign: "it belongs to another user"
            case .writableByOthers: "other users can write to it"
            case .cancelled: "interrupted"
            }
        }

        var hint: String? { self == .missing ? ErrorCatalogue.missingHint : nil }
    }

    private static let limit = 1 << 20

    /// The text of a regular file that only this user and root can change: it may run programs (`password_command`) and
    /// selects the trusted server.
    static func trustedText(atPath path: String) throws(Failure) -> String {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreign }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .writableByOthers }
        return try text(from: descriptor, isCancelled: { false })
    }

    /// The text of a file of any kind. Canceling ends the wait for the writer of a FIFO.
    static func text(comingThrough path: String) async throws(Failure) -> String {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        return try await text(comingThrough: descriptor)
    }

    /// Reads to the end on a separate thread, since a pipe may be slow. Canceling ends it.
    static func text(comingThrough descriptor: Int32) async throws(Failure) -> String {
        let cancellation = Cancellation()
        let result: Result<String, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(
                        returning: Result { () throws(Failure) in
                            try text(from: descriptor, isCancelled: { cancellation.isCancelled })
                        }
                    )
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }

    private final class Cancellation: Sendable {
        private let flag = Mutex(false)
        var isCancelled: Bool { flag.withLock { $0 } }
        func cancel() { flag.withLock { $0 = true } }
    }

    private static func opened(_ path: String) throws(Failure) -> Int32 {
        do {
            return try WholeInput.opened(Array(path.utf8))
        } catch {
            throw Failure(error)
        }
    }

    private static func text(from descriptor: Int32, isCancelled: () -> Bool) throws(Failure) -> String {
        let bytes: [UInt8]
        do {
            bytes = try WholeInput.all(from: descriptor, limit: limit, isCancelled: isCancelled)
        } catch {
            throw Failure(error)
        }
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

extension SmallFile.Failure {
    fileprivate init(_ failure: WholeInput.Failure) {
        self =
            switch failure {
            case .system(ENOENT): .missing
            case .system(let code): .system(code)
            case .tooLarge: .tooLarge
            case .cancelled: .cancelled
            }
    }
}
