/// A `multipart/form-data` body (RFC 7578): text fields in order, then one file.
///
/// Header and footer are held in memory, the file never is: it is read with `pread` straight into the buffer that goes
/// to the socket. The exact length is known before the first byte.
public struct MultipartForm: RequestBody {
    /// The part that carries the file.
    public struct FilePart: Sendable {
        /// The field name.
        public var name: String
        /// The file name told to the server.
        public var fileName: String
        /// The part's own `Content-Type` (trap T5).
        public var contentType: String
        /// The content.
        public var content: FileContent

        /// Makes a file part.
        public init(name: String, fileName: String, contentType: String, content: FileContent) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.content = content
        }
    }

    /// Separates the parts (RFC 2046 section 5.1.1).
    public let boundary: String
    /// Length of header, file and footer.
    public let byteCount: Int64

    let header: [UInt8]
    let file: FilePart
    let footer: [UInt8]
    let tap: (any ByteTap)?

    /// Value of the request's `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Lays out the body.
    ///
    /// - Parameters:
    ///   - fields: Names and values in the order they are sent.
    ///   - file: The file part, sent last.
    ///   - boundary: Random by default; given only by tests.
    ///   - tap: Sees every byte of the file in order, exactly as sent.
    public init(
        fields: [(name: String, value: String)], file: FilePart, boundary: String = MultipartForm.randomBoundary(),
        tap: (any ByteTap)? = nil
    ) {
        self.boundary = boundary
        self.file = file
        self.tap = tap
        header = []
        footer = []
        byteCount = 0
    }

    /// 60 characters with 128 random bits and more, from the alphabet of RFC 2046.
    public static func randomBoundary() -> String {
        ""
    }

    /// A reader over header, file and footer.
    public func makeReader() throws -> any RequestBodyReader {
        throw TransportError(.unusable)
    }
}

/// Sees the bytes of a file as they are sent: a hash, for example. Called on the transfer loop's thread.
public protocol ByteTap: Sendable {
    /// The next bytes. They are valid during the call only.
    func append(_ bytes: UnsafeRawBufferPointer)
    /// The body starts again from offset 0.
    func restart()
}

/// A file, open for reading, with the length that was measured when it was opened.
public final class FileContent: Sendable {
    /// The open file; owned, closed with the last reference.
    public let descriptor: Int32
    /// Bytes to send: what `fstat` said when the file was opened.
    public let byteCount: Int64

    /// Takes over an open, seekable descriptor.
    public init(owning descriptor: Int32, byteCount: Int64) {
        self.descriptor = descriptor
        self.byteCount = byteCount
    }
}
