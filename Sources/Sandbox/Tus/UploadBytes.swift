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

/// A request body that is kept back until it is whole; removed with its last reference.
final class BodySpool {
    let path: String
    private(set) var size = 0
    private let descriptor: CInt
    private var digest: Digest?

    /// The algorithm is that of ``finishDigest()``.
    init(path: String, algorithm: Digest.Algorithm?) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        digest = algorithm.map { Digest($0) }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { bytes in
            digest?.update(bytes)
            try writeAll(bytes, to: descriptor)
        }
        size += buffer.readableBytes
    }

    /// The digest of everything appended; nil without an algorithm, and when it was taken before.
    func finishDigest() -> [UInt8]? {
        digest.take()?.finish()
    }
}
