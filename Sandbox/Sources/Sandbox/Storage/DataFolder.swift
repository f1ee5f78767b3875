import Foundation
import HummingbirdCore
import NIOCore

/// The directory in which a sandbox keeps everything.
struct DataFolder: Sendable {
    let path: String

    var databasePath: String { path + "/sandbox.sqlite" }
    var photoDatabasePath: String { path + "/photosync.sqlite" }
    var captureDatabasePath: String { path + "/captures.sqlite" }
    private var incomingPath: String { path + "/incoming" }
    private var uploadsPath: String { path + "/uploads" }

    /// Opens or creates it; the bodies that an earlier process left half received are removed, tus uploads are kept.
    init(path: String) throws {
        self.path = path
        let files = FileManager.default
        try? files.removeItem(atPath: incomingPath)
        for folder in [incomingPath, uploadsPath, path + "/media/video", path + "/media/audio", path + "/photos"] {
            try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    /// Where a stored file lives.
    func mediaPath(_ type: MediaKind, _ fileName: String) -> String {
        "\(path)/media/\(type.rawValue)/\(fileName)"
    }

    /// Where a photo lives; `path` is below the photo folder.
    func photoPath(_ path: String) -> String {
        "\(self.path)/photos/\(path)"
    }

    /// Where a photo is to be put: its folder is made.
    func makePhotoPath(_ path: String) throws -> String {
        let destination = photoPath(path)
        try FileManager.default.createDirectory(
            atPath: (destination as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        return destination
    }

    /// Path of the thumbnail of a photo.
    func thumbnailPath(_ photo: String) -> String { "\(path)/thumbnails/\(photo).jpg" }

    /// Where a thumbnail is to be put: its folder is made.
    func makeThumbnailPath(_ photo: String) throws -> String {
        try FileManager.default.createDirectory(atPath: path + "/thumbnails", withIntermediateDirectories: true)
        return thumbnailPath(photo)
    }

    /// Where the bytes of a tus upload gather.
    func uploadPath(_ id: String) -> String {
        uploadsPath + "/" + id
    }

    /// A name for a file that is still arriving.
    func newIncomingPath() -> String {
        incomingPath + "/" + newUUID()
    }
}

/// A call of the operating system that failed.
struct SystemError: Error, CustomStringConvertible {
    var call: String
    var code: CInt

    var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// A stored file that is being served: opened once, so what replaces it under its name does not mix with it.
final class OpenFile: Sendable {
    /// Bytes.
    let size: Int
    /// Whole seconds since 1970.
    let modifiedAt: Int
    /// Owned by this object alone: opened in `init`, closed in `deinit`; `pread` keeps no position.
    private let descriptor: CInt

    /// Nil when there is no such file, or it cannot be read.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return nil }
        size = Int(status.st_size)
        modifiedAt = Int(status.st_mtim.tv_sec)
    }

    deinit {
        close(descriptor)
    }

    /// At most so many bytes; fewer at the end.
    func read(at offset: Int, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            guard result >= 0 else { throw SystemError(call: "pread", code: errno) }
            filled = result
        }
    }
}

/// A file while its bytes arrive: hashed on the fly if wanted, removed with its last reference unless it was kept.
final class IncomingFile: ReceivedFile {
    let path: String
    private(set) var size = 0
    private let descriptor: CInt
    private var digest: Digest?
    private var isKept = false
    /// The first bytes, enough to sniff a type.
    private(set) var prefix: [UInt8] = []

    /// Without an algorithm nothing is hashed.
    init(path: String, hashedBy algorithm: Digest.Algorithm?) throws {
        self.path = path
        digest = algorithm.map { Digest($0) }
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
    }

    deinit {
        close(descriptor)
        if !isKept { unlink(path) }
    }

    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { bytes in
            digest?.update(bytes)
            if prefix.count < 16 { prefix += bytes.prefix(16 - prefix.count) }
            try writeAll(bytes, to: descriptor)
        }
        size += buffer.readableBytes
    }

    /// The digest of everything appended; call it once. Nil when nothing was hashed.
    func finishDigest() -> [UInt8]? {
        digest.take()?.finish()
    }

    /// Moves the file to its final name.
    func keep(at destination: String) throws {
        guard rename(path, destination) == 0 else { throw SystemError(call: "rename", code: errno) }
        isKept = true
    }
}

/// A file that has arrived whole and waits for its place.
protocol ReceivedFile {
    var path: String { get }
    var size: Int { get }

    /// Moves the file to its final name.
    func keep(at destination: String) throws
}

/// Writes everything, however little the system takes at a time.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) throws {
    var rest = bytes
    while !rest.isEmpty {
        let count = write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            throw SystemError(call: "write", code: errno)
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}

/// Sends a range of a stored file in pieces.
struct StoredFileStream {
    private static let pieceSize = 256 * 1024
    let range: StoredRange

    init(_ range: StoredRange) {
        self.range = range
    }

    /// Throws when the file cannot be read to the end of the range; the connection is then broken off.
    func write(to body: inout some ResponseBodyWriter) async throws {
        let file = try range.open()
        var sent = 0
        while sent < range.count {
            var piece = try file.read(at: range.offset + sent, count: min(range.count - sent, Self.pieceSize))
            guard !piece.isEmpty else { throw SystemError(call: "pread", code: EIO) }
            if range.isCorrupted, sent == 0 { piece[0] ^= 1 }
            try await body.write(ByteBuffer(bytes: piece))
            sent += piece.count
        }
    }
}

/// Bytes of a stored file that an answer carries.
struct StoredRange: Sendable {
    private enum Source {
        case path(String)
        case file(OpenFile)
    }

    private var source: Source
    var offset: Int
    var count: Int
    /// Whether the first byte goes out wrong.
    var isCorrupted = false

    /// A file that is opened when its bytes are sent.
    init(path: String, offset: Int, count: Int) {
        source = .path(path)
        self.offset = offset
        self.count = count
    }

    init(file: OpenFile, offset: Int, count: Int) {
        source = .file(file)
        self.offset = offset
        self.count = count
    }

    func open() throws -> OpenFile {
        switch source {
        case .file(let file): return file
        case .path(let path):
            guard let file = OpenFile(path: path) else { throw SystemError(call: "open", code: errno) }
            return file
        }
    }
}
