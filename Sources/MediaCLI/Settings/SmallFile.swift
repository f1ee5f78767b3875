internal import Foundation

/// Settings, password and netrc files: small texts, which may also come through a FIFO or `<(command)`.
enum SmallFile {
    /// Why there is no text.
    enum Failure: Error, Equatable {
        case missing
        case system(Int32)
        case tooLarge
        case notUTF8

        /// Lower case, no full stop.
        var reason: String {
            switch self {
            case .missing: "no such file"
            case .system(let code): String(cString: strerror(code)).lowercased()
            case .tooLarge: "it is larger than 1 MiB"
            case .notUTF8: "it is not UTF-8"
            }
        }
    }

    private static let limit = 1 << 20

    static func text(atPath path: String) throws(Failure) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw errno == ENOENT ? .missing : .system(errno) }
        defer { close(descriptor) }
        return try text(from: descriptor)
    }

    /// Everything up to the end.
    static func text(from descriptor: Int32) throws(Failure) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= limit {
            let got = read(descriptor, &chunk, chunk.count)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .system(errno) }
            guard got > 0 else {
                guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
                return text
            }
            bytes += chunk[..<got]
        }
        throw .tooLarge
    }

    /// Whether others than its owner may read the file.
    static func isReadableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_mode & (S_IRGRP | S_IROTH) != 0
    }
}
