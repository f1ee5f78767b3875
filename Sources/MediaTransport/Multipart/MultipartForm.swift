internal import MediaCore
internal import MediaSystem

/// A `multipart/form-data` body (RFC 7578): text fields in order, then one file.
///
/// The header and footer are kept in memory. The file is not: it is read with `pread` directly into the buffer that is
/// sent. The exact length is known before the first byte.
public struct MultipartForm: RequestBody {
    /// Separates the parts (RFC 2046 section 5.1.1).
    public let boundary: String
    /// Length of header, file and footer.
    public let byteCount: Int64

    private let header: [UInt8]
    private let content: FileContent
    private let footer: [UInt8]
    private let tap: (any ByteTap)?

    /// Value of the request's `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The body has `fields` in order, then the file with its own `fileType` (trap T5). `tap` receives every byte of the
    /// file in order, as sent. `leading` contains encoded parts before the fields, for example another file.
    public init(
        leading: [UInt8] = [],
        fields: [(name: String, value: String)],
        file: FileContent,
        name: String,
        fileName: String,
        fileType: String,
        boundary: String = MultipartForm.randomBoundary(),
        tap: (any ByteTap)? = nil
    ) {
        self.boundary = boundary
        self.tap = tap
        content = file
        // Bytes are appended without creating a string for each line: a form is created for every small file.
        var head = leading
        head.reserveCapacity(leading.count + 1024)
        func begin(_ name: String) {
            head += "--".utf8
            head += boundary.utf8
            head += "\r\nContent-Disposition: form-data; name=\"".utf8
            head += Self.escaped(name).utf8
        }
        for field in fields {
            begin(field.name)
            head += "\"\r\n\r\n".utf8
            head += field.value.utf8
            head += "\r\n".utf8
        }
        begin(name)
        head += "\"; filename=\"".utf8
        head += Self.escaped(fileName).utf8
        head += "\"\r\nContent-Type: ".utf8
        head += Self.singleLine(fileType).utf8
        head += "\r\n\r\n".utf8
        header = head
        footer = Array("\r\n--\(boundary)--\r\n".utf8)
        byteCount = Int64(header.count) + file.byteCount + Int64(footer.count)
    }

    /// 24 dashes and 128 random bits in hexadecimal, the form that `curl` uses and that servers and firewalls accept;
    /// 56 of the 70 characters that RFC 2046 section 5.1.1 allows.
    public static func randomBoundary() -> String {
        var generator = RandomBlock()
        let bits = [generator.next() as UInt64, generator.next()]
        let bytes = bits.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        return "------------------------" + HexText.lowerCase(bytes)
    }

    /// A reader over header, file and footer.
    public func makeReader() -> any RequestBodyReader {
        Reader(self)
    }

    /// Names inside a header field: `"`, CR and LF are percent-encoded, everything else is unchanged (WHATWG HTML,
    /// "multipart/form-data encoding algorithm"; RFC 7578 section 2 allows percent-encoding).
    static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 0x22 || $0 == 0x0d || $0 == 0x0a }) else { return name }
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func singleLine(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return value }
        return String(String.UnicodeScalarView(value.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }))
    }
}

extension MultipartForm {
    private final class Reader: RequestBodyReader {
        private let form: MultipartForm
        private var offset: Int64 = 0

        init(_ form: MultipartForm) {
            self.form = form
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            var filled = 0
            while filled < buffer.count {
                let count = try readSegment(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                if count == 0 { break }
                filled += count
                offset += Int64(count)
            }
            return filled
        }

        func rewind() {
            if offset > Int64(form.header.count) { form.tap?.restart() }
            offset = 0
        }

        /// Reads from the segment at `offset`, up to its end.
        private func readSegment(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let fileStart = Int64(form.header.count)
            let fileEnd = fileStart + form.content.byteCount
            if offset < fileStart { return copy(form.header, from: Int(offset), into: buffer) }
            if offset < fileEnd {
                let count = try form.content.read(at: offset - fileStart, into: buffer)
                form.tap?.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return count
            }
            return copy(form.footer, from: Int(offset - fileEnd), into: buffer)
        }

        private func copy(_ bytes: [UInt8], from start: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = min(buffer.count, bytes.count - start)
            buffer.copyBytes(from: bytes[start..<start + count])
            return count
        }
    }
}

/// Receives the bytes of a file as they are sent, for example to hash them. Called on the transfer loop's thread.
public protocol ByteTap: Sendable {
    /// Receives the next bytes, which are valid only during the call.
    func append(_ bytes: UnsafeRawBufferPointer)
    /// The body starts again from offset 0.
    func restart()
}
