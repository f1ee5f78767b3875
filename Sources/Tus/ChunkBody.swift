internal import MediaCrypto
internal import MediaTransport

/// One chunk of a content: bytes of a file that go straight from there to the socket and, in passing, to the hash. Its
/// last byte goes out only once `end` has been let go.
struct ChunkBody: RequestBody {
    let file: FileContent
    /// Where in the file the chunk begins.
    let start: Int64
    let byteCount: Int64
    let pipeline: HashPipeline
    let end = ChunkEnd()

    /// Opens the source for one chunk.
    ///
    /// - Throws: `TusError` `.sourceFailed` when that cannot be done, or the file is shorter than the content.
    init(_ range: Range<Int64>, of content: TusContent, _ pipeline: HashPipeline) throws(TusError) {
        file = try content.openChecked()
        start = content.start + range.lowerBound
        byteCount = Int64(range.count)
        self.pipeline = pipeline
    }

    /// Which bytes of the content these are.
    func range(in content: TusContent) -> Range<Int64> {
        start - content.start..<start - content.start + byteCount
    }

    func makeReader() throws -> any RequestBodyReader {
        try Reader(self)
    }

    private final class Reader: RequestBodyReader {
        private let chunk: ChunkBody
        private var offset: Int64 = 0
        private var lastByte: UInt8 = 0

        init(_ chunk: ChunkBody) throws {
            self.chunk = chunk
            try reachEndIfDue()
        }

        var isHeld: Bool { chunk.end.isHeld }

        func onRelease(_ wake: @escaping @Sendable () -> Void) {
            chunk.end.onRelease(wake)
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let beforeLast = chunk.byteCount - 1 - offset
            guard beforeLast > 0 else { return try readLastByte(into: buffer) }
            let window = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(Int64(buffer.count), beforeLast)))
            )
            let count = try chunk.file.read(at: chunk.start + offset, into: window)
            chunk.pipeline.append(UnsafeRawBufferPointer(rebasing: window[..<count]))
            offset += Int64(count)
            try reachEndIfDue()
            return count
        }

        /// Only a body of which nothing has gone out is ever asked for this: there is nothing to take back.
        func rewind() {}

        /// Hashes the last byte before it goes out, so that the digest of the whole chunk can be kept in between.
        private func reachEndIfDue() throws {
            guard offset == chunk.byteCount - 1 else { return }
            try withUnsafeMutableBytes(of: &lastByte) { byte in
                _ = try chunk.file.read(at: chunk.start + offset, into: byte)
                chunk.pipeline.append(UnsafeRawBufferPointer(byte))
            }
            chunk.end.reach()
        }

        private func readLastByte(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            try chunk.end.throwFailure()
            guard offset < chunk.byteCount else { return 0 }
            buffer[0] = lastByte
            offset += 1
            return 1
        }
    }
}

extension TusContent {
    /// The file, as long as it has to be.
    func openChecked() throws(TusError) -> FileContent {
        let file: FileContent
        do {
            file = try open()
        } catch {
            throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
        }
        guard file.byteCount >= start + byteCount else {
            let error = FileContentError.shrank(expected: start + byteCount, actual: file.byteCount)
            throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
        }
        return file
    }
}
