import Foundation
import NIOCore

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
