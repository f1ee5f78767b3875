import Foundation
import HummingbirdCore
import NIOCore

struct DataFolder: Sendable {
    let path: String

    /// Opens or creates the folder, and removes incomplete bodies of an earlier process. Tus uploads are kept.
    init(path: String) throws {
        self.path = path
        try? FileManager.default.removeItem(atPath: path + "/incoming")
        for folder in ["incoming", "uploads", "media/video", "media/audio", "photos", "thumbnails"] {
            try FileManager.default.createDirectory(atPath: path + "/" + folder, withIntermediateDirectories: true)
        }
    }

    func mediaPath(_ type: MediaKind, _ fileName: String) -> String { "\(path)/media/\(type.rawValue)/\(fileName)" }

    /// `path` is relative to the folder of the photos.
    func photoPath(_ path: String) -> String { "\(self.path)/photos/\(path)" }

    /// Like `photoPath`, but creates the directory.
    func makePhotoPath(_ path: String) throws -> String {
        let url = URL(fileURLWithPath: photoPath(path))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        return url.path
    }

    func thumbnailPath(_ photo: String) -> String { "\(path)/thumbnails/\(photo).jpg" }

    func uploadPath(_ id: String) -> String { "\(path)/uploads/\(id)" }

    func makeUpload(_ id: String) throws { _ = try OpenFile(uploadPath(id), O_WRONLY | O_CREAT | O_EXCL) }

    func newIncomingPath() -> String { "\(path)/incoming/\(newUUID())" }
}

struct SystemError: Error, CustomStringConvertible {
    var call: String
    var code: CInt

    var description: String { "\(call): \(String(cString: strerror(code)))" }
}

final class OpenFile: Sendable {
    /// Owned by this object alone: opened in `init`, closed in `deinit`, never handed out.
    private let descriptor: CInt

    init(_ path: String, _ flags: CInt) throws {
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
    }

    deinit { close(descriptor) }

    func status() throws -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError(call: "fstat", code: errno) }
        return status
    }

    /// Returns fewer bytes at the end of the file.
    func read(at offset: Int, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            guard result >= 0 else { throw SystemError(call: "pread", code: errno) }
            filled = result
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError(call: "write", code: errno) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Yields to other requests between pieces.
    func append(fileAt path: String) async throws {
        let file = try OpenFile(path, O_RDONLY)
        try await file.forEachPiece { piece in try piece.withUnsafeBytes { try write($0) } }
    }

    /// Yields to other requests between pieces.
    func forEachPiece(_ work: ([UInt8]) throws -> Void) async throws {
        var offset = 0
        while case let piece = try read(at: offset, count: 1 << 20), !piece.isEmpty {
            try work(piece)
            offset += piece.count
            await Task.yield()
        }
    }
}

/// A file that is being received; removed with its last reference unless it was kept.
final class IncomingFile {
    private(set) var path: String
    private(set) var size = 0
    /// The first bytes, from which the type is detected.
    private(set) var prefix: [UInt8] = []
    private let file: OpenFile
    private var digest: Digest?
    private var isKept = false

    init(path: String, isHashed: Bool) throws {
        self.path = path
        digest = isHashed ? Digest() : nil
        file = try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL)
    }

    /// A complete file, which is not removed.
    init(existing path: String) async throws {
        self.path = path
        file = try OpenFile(path, O_RDONLY)
        digest = Digest()
        isKept = true
        try await file.forEachPiece { piece in piece.withUnsafeBytes(note) }
    }

    deinit { if !isKept { unlink(path) } }

    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { bytes in
            note(bytes)
            try file.write(bytes)
        }
    }

    private func note(_ bytes: UnsafeRawBufferPointer) {
        digest?.update(bytes)
        if prefix.count < 16 { prefix += bytes.prefix(16 - prefix.count) }
        size += bytes.count
    }

    /// Must be called only once. Nil if nothing was hashed.
    func finishDigest() -> [UInt8]? { digest.take()?.finish() }

    func keep(at destination: String) throws {
        guard rename(path, destination) == 0 else { throw SystemError(call: "rename", code: errno) }
        isKept = true
        path = destination
    }
}

/// The bytes of a stored file in a response. The file stays open, so that a response never mixes it with its
/// replacement.
struct StoredRange: Sendable {
    private static let pieceSize = 256 * 1024

    private let file: OpenFile
    var offset = 0
    var count: Int
    /// Whole seconds since 1970.
    let modifiedAt: Int
    var isCorrupted = false

    /// The whole file; nil if it cannot be read.
    init?(path: String) {
        guard let file = try? OpenFile(path, O_RDONLY), let status = try? file.status() else { return nil }
        self.file = file
        count = Int(status.st_size)
        modifiedAt = Int(status.st_mtim.tv_sec)
    }

    /// Throws if the file cannot be read; the connection is then closed.
    func write(to body: inout some ResponseBodyWriter) async throws {
        var sent = 0
        while sent < count {
            var piece = try file.read(at: offset + sent, count: min(count - sent, Self.pieceSize))
            guard !piece.isEmpty else { throw SystemError(call: "pread", code: EIO) }
            if isCorrupted, sent == 0 { piece[0] ^= 1 }
            try await body.write(ByteBuffer(bytes: piece))
            sent += piece.count
        }
    }
}
