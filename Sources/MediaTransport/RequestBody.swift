/// The content of a request: it knows its exact length and can be read from the start more than once.
public protocol RequestBody: Sendable {
    /// Bytes that a reader yields in all, known before the first is read.
    var byteCount: Int64 { get }

    /// A new reader at offset 0. Called on the transfer loop's thread.
    ///
    /// - Throws: What kept the content from being opened; it becomes the `underlying` of a `TransportError`.
    func makeReader() throws -> any RequestBodyReader
}

/// Reads a body front to back. Used by one thread, the transfer loop's.
public protocol RequestBodyReader: AnyObject {
    /// Fills as much of `buffer` as it can.
    ///
    /// - Returns: Bytes written; 0 only after the last byte.
    /// - Throws: What went wrong with the source (a file that shrank, an I/O error). The transfer is then aborted.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Goes back to offset 0.
    ///
    /// - Throws: When the source cannot be read again.
    func rewind() throws

    /// Whether no further byte may go out for now. While this is true, `read` is not called, the transfer rests without
    /// holding up others, and its stall limit does not run. It can be stopped as ever.
    var isHeld: Bool { get }

    /// Takes what has to be called, from any thread, when `isHeld` has become false.
    func onRelease(_ wake: @escaping @Sendable () -> Void)
}

extension RequestBodyReader {
    /// Most readers never hold anything back.
    public var isHeld: Bool { false }

    /// Most readers never hold anything back.
    public func onRelease(_ wake: @escaping @Sendable () -> Void) {}
}

/// A body held in memory.
public struct BytesBody: RequestBody {
    let bytes: [UInt8]

    /// A body of these bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A body of this text in UTF-8.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Length in bytes.
    public var byteCount: Int64 { Int64(bytes.count) }

    /// A reader over the bytes.
    public func makeReader() -> any RequestBodyReader {
        Reader(bytes)
    }

    private final class Reader: RequestBodyReader {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = min(buffer.count, bytes.count - offset)
            buffer.copyBytes(from: bytes[offset..<offset + count])
            offset += count
            return count
        }

        func rewind() {
            offset = 0
        }
    }
}
