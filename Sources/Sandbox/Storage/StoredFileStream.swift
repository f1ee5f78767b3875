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
