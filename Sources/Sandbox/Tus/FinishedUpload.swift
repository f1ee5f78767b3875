import Foundation

/// The bytes of a complete tus upload on their way into the catalog.
struct FinishedUpload: ReceivedFile {
    private static let pieceSize = 1 << 20

    let path: String
    let size: Int
    let checksum: String
    /// The first bytes, enough to sniff a type.
    let prefix: [UInt8]

    /// Reads the file, giving way to other requests between pieces.
    init(path: String) async throws {
        self.path = path
        guard let file = FileHandle(forReadingAtPath: path) else { throw SystemError(call: "open", code: ENOENT) }
        defer { try? file.close() }
        var digest = Digest()
        var size = 0
        var prefix: [UInt8] = []
        while let piece = try file.read(upToCount: Self.pieceSize), !piece.isEmpty {
            piece.withUnsafeBytes { digest.update($0) }
            if prefix.isEmpty { prefix = Array(piece.prefix(16)) }
            size += piece.count
            await Task.yield()
        }
        self.size = size
        self.prefix = prefix
        checksum = hexString(digest.finish())
    }

    func keep(at destination: String) throws {
        guard rename(path, destination) == 0 else { throw SystemError(call: "rename", code: errno) }
    }
}
