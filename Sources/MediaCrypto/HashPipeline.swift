internal import MediaCore
internal import MediaSystem

/// Computes SHA-256 on a separate thread while another thread sends the bytes.
///
/// `append` copies into a bounded ring of buffers (1.5 MiB) and returns; it waits only if hashing is slower. Inputs of
/// up to 1 MiB never start the thread. Inputs known to have at most 256 KiB are not copied: `append` hashes them.
package final class HashPipeline: Sendable {
    let ring: HashRing

    /// `byteCount` is nil if it is unknown.
    ///
    /// - Throws: `CryptoError` if OpenSSL has no memory for a digest.
    package init(expecting byteCount: Int64? = nil) throws(CryptoError) {
        ring = try HashRing(hashesAtOnce: byteCount.map { $0 <= HashRing.blockSize } ?? false)
    }

    deinit {
        ring.abandon()
    }

    /// Adds bytes, in order. Must not run concurrently with itself, `mark`, `restart` or `finish`.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        ring.append(bytes)
    }

    /// Adds bytes from an open file, read with `pread` on its own thread; the file offset does not change. `descriptor`
    /// must stay open until this returns.
    ///
    /// Canceling stops the reading after at most one block of 1 MiB and throws `CancellationError`. `onBlock` is
    /// called on the reading thread after each block with the number of bytes read so far; an error that it throws
    /// stops the reading.
    ///
    /// - Throws: `CryptoError`, with `systemError` if reading failed; also thrown if the file ends early.
    package func append(
        file descriptor: Int32,
        from offset: Int64,
        byteCount: Int64,
        onBlock: @escaping @Sendable (Int64) throws -> Void = { _ in }
    ) async throws {
        try await BlockingWork.runCancellable { [ring] isCancelled in
            var done: Int64 = 0
            try FileReading.read(descriptor, from: offset, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                ring.append(block)
                done += Int64(block.count)
                try onBlock(done)
            }
        }
    }

    /// Sets the point to which `restart` goes back.
    package func mark() {
        ring.mark()
    }

    /// Discards everything appended since the mark or, if there is no mark, everything.
    package func restart() {
        ring.restart()
    }

    /// Waits for the thread and returns the digest of all bytes appended, and their number. More bytes may follow.
    ///
    /// Canceling has no effect: at most the content of the ring remains to be hashed, which takes milliseconds.
    package func finish() async throws(CryptoError) -> (digest: SHA256Digest, byteCount: Int64) {
        let result = await withCheckedContinuation { continuation in
            ring.finish { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

/// SHA-1 and SHA-256 of a file, computed in one pass.
package struct FileDigests: Sendable, Equatable {
    package let sha1: [UInt8]
    package let sha256: SHA256Digest

    package var sha1Hex: String { HexText.lowerCase(sha1) }

    /// Reads the first bytes of an open file with `pread` on the calling thread; the file offset does not change.
    /// `onBlock` is called before each block of at most 1 MiB; an error that it throws stops the reading.
    ///
    /// - Throws: `CryptoError`, with `systemError` if reading failed; also thrown if the file ends before `byteCount`.
    package init(ofFile descriptor: Int32, byteCount: Int64, onBlock: () throws -> Void) throws {
        var sha1 = try DigestContext(.sha1)
        var sha256 = try DigestContext(.sha256)
        try FileReading.read(descriptor, from: 0, byteCount: byteCount) { block in
            try onBlock()
            sha1.update(block)
            sha256.update(block)
        }
        self.sha1 = try sha1.snapshot()
        self.sha256 = SHA256Digest(bytes: try sha256.snapshot())
    }
}

/// Reads files with blocking calls, outside Swift's small thread pool.
package enum FileReading {
    private static let blockSize = 1 << 20

    /// Reads exactly `byteCount` bytes with `pread`, starting at `offset`, in blocks of at most 1 MiB that are valid
    /// only during the call.
    ///
    /// - Throws: Errors thrown by `body`; `CryptoError`, with `systemError` if reading failed; also thrown if the file
    ///   ends early.
    static func read(
        _ descriptor: Int32,
        from offset: Int64,
        byteCount: Int64,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 4096)
        defer { block.deallocate() }
        var done: Int64 = 0
        while done < byteCount {
            let wanted = Int(min(Int64(block.count), byteCount - done))
            let target = UnsafeMutableRawBufferPointer(rebasing: block[..<wanted])
            let got = try fill(target, from: descriptor, at: offset + done)
            guard got > 0 else {
                throw CryptoError("the file ended after \(offset + done) of \(offset + byteCount) bytes")
            }
            try body(UnsafeRawBufferPointer(rebasing: block[..<got]))
            done += Int64(got)
        }
    }

    /// Fills a buffer up to the end of the file, and returns the number of bytes: 0 at the end of the file.
    static func fill(
        _ buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32,
        at offset: Int64
    ) throws(CryptoError) -> Int {
        do {
            return try FileBytes.read(descriptor, at: offset, into: buffer)
        } catch {
            throw CryptoError("cannot read", systemError: error.code)
        }
    }
}
