import Foundation
import NIOCore

/// The file of a tus upload, open for more bytes.
final class UploadBytes {
    private static let pieceSize = 1 << 20

    private let descriptor: CInt

    init(appendingTo path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { try writeAll($0, to: descriptor) }
    }

    /// Appends a whole file, giving way to other requests between pieces.
    func append(fileAt path: String) async throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw SystemError(call: "open", code: ENOENT) }
        defer { try? file.close() }
        while let piece = try file.read(upToCount: Self.pieceSize), !piece.isEmpty {
            try piece.withUnsafeBytes { try writeAll($0, to: descriptor) }
            await Task.yield()
        }
    }
}
