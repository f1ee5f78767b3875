import Foundation
import HummingbirdCore
import NIOCore

/// Sends a range of a stored file in pieces.
struct StoredFileStream {
    private static let pieceSize = 256 * 1024
    let range: StoredRange

    init(_ range: StoredRange) {
        self.range = range
    }

    /// Throws when the file cannot be read to the end of the range; the connection is then broken off.
    func write(to body: inout some ResponseBodyWriter) async throws {
        guard let file = FileHandle(forReadingAtPath: range.path) else {
            throw SystemError(call: "open", code: ENOENT)
        }
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(range.offset))
        var rest = range.count
        while rest > 0 {
            guard let piece = try file.read(upToCount: min(rest, Self.pieceSize)), !piece.isEmpty else {
                throw SystemError(call: "read", code: EIO)
            }
            try await body.write(ByteBuffer(bytes: piece))
            rest -= piece.count
        }
    }
}
