import Foundation
import NIOCore

/// A streaming parser of `multipart/form-data` (RFC 7578, RFC 2046 section 5.1). Buffers at most one chunk and one
/// delimiter.
struct MultipartParser {
    enum Event {
        case partBegan(PartHeader)
        case data(ByteBuffer)
    }

    private enum State {
        case preamble, afterDelimiter, header, data, epilogue
    }

    /// The maximum length of the headers of one part.
    private static let headerLimit = 64 * 1024

    /// `\r\n--boundary`; the input is prefixed with a CRLF, which the first delimiter may lack.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var pending: ByteBuffer

    private(set) var isComplete = false

    init(boundary: String) {
        delimiter = Array("\r\n--\(boundary)".utf8)
        pending = ByteBuffer(string: "\r\n")
    }

    mutating func consume(_ chunk: ByteBuffer, _ handle: (Event) throws -> Void) throws {
        var input = chunk
        if pending.readableBytes > 0 {
            pending.writeImmutableBuffer(chunk)
            input = pending
        }
        // Appending to the old buffer would copy it, since slices of it were passed on.
        pending = ByteBuffer()
        while try step(&input, handle) {}
        pending = input
    }

    /// False if more input is required.
    private mutating func step(_ input: inout ByteBuffer, _ handle: (Event) throws -> Void) throws -> Bool {
        switch state {
        case .preamble: try readData(&input, isPart: false, handle)
        case .afterDelimiter: try readDelimiterEnd(&input)
        case .header: try readHeader(&input, handle)
        case .data: try readData(&input, isPart: true, handle)
        case .epilogue: input.readSlice(length: input.readableBytes) == nil
        }
    }

    private mutating func readDelimiterEnd(_ input: inout ByteBuffer) throws -> Bool {
        guard let end = input.readBytes(length: 2) else { return false }
        if end == Array("--".utf8) {
            isComplete = true
            state = .epilogue
        } else if end == Array("\r\n".utf8) {
            // The CRLF also begins the blank line of a part without headers.
            input.moveReaderIndex(to: input.readerIndex - 2)
            state = .header
        } else {
            throw MultipartError.malformed
        }
        return true
    }

    private mutating func readHeader(_ input: inout ByteBuffer, _ handle: (Event) throws -> Void) throws -> Bool {
        let (offset, isFound) = Self.find(Array("\r\n\r\n".utf8), in: input)
        guard isFound else {
            guard input.readableBytes <= Self.headerLimit else { throw MultipartError.malformed }
            return false
        }
        let text = input.readString(length: offset + 4) ?? ""
        try handle(.partBegan(PartHeader(text)))
        state = .data
        return true
    }

    /// Reads up to the next delimiter; the preamble does not belong to a part.
    private mutating func readData(
        _ input: inout ByteBuffer,
        isPart: Bool,
        _ handle: (Event) throws -> Void
    ) throws -> Bool {
        let (offset, isFound) = Self.find(delimiter, in: input)
        if let data = input.readSlice(length: offset), isPart, offset > 0 { try handle(.data(data)) }
        guard isFound else { return false }
        input.moveReaderIndex(forwardBy: delimiter.count)
        state = .afterDelimiter
        return true
    }

    /// The offset of the needle, or of bytes that may be its beginning.
    private static func find(_ needle: [UInt8], in buffer: ByteBuffer) -> (offset: Int, isFound: Bool) {
        buffer.withUnsafeReadableBytes { haystack in
            guard let start = haystack.baseAddress else { return (0, false) }
            var offset = 0
            // Every needle begins with CR.
            while offset < haystack.count, let hit = memchr(start + offset, 0x0D, haystack.count - offset) {
                offset = start.distance(to: UnsafeRawPointer(hit))
                let comparable = min(needle.count, haystack.count - offset)
                if memcmp(start + offset, needle, comparable) == 0 { return (offset, comparable == needle.count) }
                offset += 1
            }
            return (haystack.count, false)
        }
    }
}

enum MultipartError: Error {
    case malformed
}

struct PartHeader: Equatable {
    /// Empty if the part has none.
    var name = ""
    /// The name of a file, without directories (as in PHP).
    var fileName: String?
    /// Without parameters.
    var contentType = ""

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            switch line[..<colon].lowercased() {
            case "content-disposition":
                let parameters = HeaderParameters(value)
                name = parameters["name"] ?? ""
                fileName = parameters["filename"].map(Self.lastComponent)
            case "content-type":
                contentType = HeaderParameters(value).value.lowercased()
            default: break
            }
        }
    }

    private static func lastComponent(_ path: String) -> String {
        String(path[(path.lastIndex { $0 == "/" || $0 == "\\" }.map(path.index(after:)) ?? path.startIndex)...])
    }
}

/// A header value of the form `value; name=text; name="quoted text"`.
struct HeaderParameters {
    let value: String
    private var parameters: [String: String] = [:]

    init(_ text: String) {
        value = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        for match in text.matches(of: /;\s*([^=;"\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"]*))/) {
            let plain = (match.3 ?? "").trimmingCharacters(in: .whitespaces)
            // A backslash is an escape only before a quote or a backslash (as in PHP).
            let quoted = match.2.map { String($0.replacing(/\\(["\\])/) { $0.1 }) }
            parameters[match.1.lowercased()] = quoted ?? plain
        }
    }

    subscript(name: String) -> String? { parameters[name] }
}
