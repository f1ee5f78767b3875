import Foundation
import NIOCore

/// A streaming parser of `multipart/form-data` (RFC 7578, RFC 2046 section 5.1).
///
/// It never holds more than one chunk and one delimiter: part data is handed on as slices of the incoming buffers.
struct MultipartParser {
    /// What the parser found.
    enum Event {
        case partBegan(PartHeader)
        case data(ByteBuffer)
        case partEnded
    }

    private enum State {
        case preamble
        case afterDelimiter
        case header
        case data
        case epilogue
    }

    /// More header bytes than this in one part are not a form any more.
    private static let headerLimit = 64 * 1024

    /// `\r\n--boundary`; the first one may lack its CRLF, so parsing starts as if one had been read.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var pending: ByteBuffer

    /// Whether the closing delimiter was seen.
    private(set) var isComplete = false

    init(boundary: String) {
        delimiter = Array("\r\n--\(boundary)".utf8)
        pending = ByteBuffer(string: "\r\n")
    }

    /// Takes the next bytes of the body.
    mutating func consume(_ chunk: ByteBuffer, _ handle: (Event) throws -> Void) throws {
        var input = takePending(joinedWith: chunk)
        while try step(&input, handle) {}
        pending = input
    }

    private mutating func takePending(joinedWith chunk: ByteBuffer) -> ByteBuffer {
        guard pending.readableBytes > 0 else { return chunk }
        var joined = pending
        joined.writeImmutableBuffer(chunk)
        return joined
    }

    /// One state transition; false when more input is needed.
    private mutating func step(_ input: inout ByteBuffer, _ handle: (Event) throws -> Void) throws -> Bool {
        switch state {
        case .preamble: skipPreamble(&input)
        case .afterDelimiter: try readDelimiterEnd(&input)
        case .header: try readHeader(&input, handle)
        case .data: try readData(&input, handle)
        case .epilogue: skipEpilogue(&input)
        }
    }

    private mutating func skipPreamble(_ input: inout ByteBuffer) -> Bool {
        switch Self.find(delimiter, in: input) {
        case .at(let offset):
            input.moveReaderIndex(forwardBy: offset + delimiter.count)
            state = .afterDelimiter
            return true
        case .possiblyFrom(let offset):
            input.moveReaderIndex(forwardBy: offset)
            return false
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
        guard case .at(let offset) = Self.find(Array("\r\n\r\n".utf8), in: input) else {
            guard input.readableBytes <= Self.headerLimit else { throw MultipartError.malformed }
            return false
        }
        let text = input.readString(length: offset + 4) ?? ""
        try handle(.partBegan(PartHeader(text)))
        state = .data
        return true
    }

    private mutating func readData(_ input: inout ByteBuffer, _ handle: (Event) throws -> Void) throws -> Bool {
        switch Self.find(delimiter, in: input) {
        case .at(let offset):
            if offset > 0, let data = input.readSlice(length: offset) { try handle(.data(data)) }
            input.moveReaderIndex(forwardBy: delimiter.count)
            try handle(.partEnded)
            state = .afterDelimiter
            return true
        case .possiblyFrom(let offset):
            if offset > 0, let data = input.readSlice(length: offset) { try handle(.data(data)) }
            return false
        }
    }

    private func skipEpilogue(_ input: inout ByteBuffer) -> Bool {
        input.moveReaderIndex(forwardBy: input.readableBytes)
        return false
    }

    // MARK: Search

    private enum Match {
        case at(Int)
        /// Not found; the bytes from this offset on may be its beginning.
        case possiblyFrom(Int)
    }

    private static func find(_ needle: [UInt8], in buffer: ByteBuffer) -> Match {
        buffer.withUnsafeReadableBytes { haystack in
            guard let start = haystack.baseAddress else { return .possiblyFrom(0) }
            var offset = 0
            // Every needle begins with CR: let `memchr` do the running, compare only where it stops.
            while offset < haystack.count, let hit = memchr(start + offset, 0x0D, haystack.count - offset) {
                offset = start.distance(to: UnsafeRawPointer(hit))
                let comparable = min(needle.count, haystack.count - offset)
                if memcmp(start + offset, needle, comparable) == 0 {
                    return comparable == needle.count ? .at(offset) : .possiblyFrom(offset)
                }
                offset += 1
            }
            return .possiblyFrom(haystack.count)
        }
    }
}

/// The body is not `multipart/form-data`.
enum MultipartError: Error {
    case malformed
}

/// Headers of one form part.
struct PartHeader: Equatable {
    /// The field's name; empty when the part has none.
    var name = ""
    /// Present when the part is a file, as the client spelled it, directories removed (as PHP does).
    var fileName: String?
    /// The part's own `Content-Type`, without parameters.
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
    /// The text before the first semicolon.
    private(set) var value = ""
    private var parameters: [String: String] = [:]

    init(_ text: String) {
        var pieces = Self.split(text)
        value = pieces.removeFirst().trimmingCharacters(in: .whitespaces)
        for piece in pieces {
            guard let equals = piece.firstIndex(of: "=") else { continue }
            let name = piece[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            parameters[name] = Self.unquoted(piece[piece.index(after: equals)...].trimmingCharacters(in: .whitespaces))
        }
    }

    subscript(name: String) -> String? { parameters[name] }

    /// Splits at semicolons outside quotes; never empty.
    private static func split(_ text: String) -> [String] {
        var pieces = [""]
        var isQuoted = false
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if scalar == ";", !isQuoted {
                pieces.append("")
                continue
            }
            if scalar == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = scalar == "\\" && isQuoted && !isEscaped
            pieces[pieces.count - 1].unicodeScalars.append(scalar)
        }
        return pieces
    }

    /// Removes quotes; a backslash is an escape only before a quote or a backslash (as in PHP).
    private static func unquoted(_ text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count >= 2, scalars.first == "\"", scalars.last == "\"" else { return text }
        var result = String.UnicodeScalarView()
        var index = 1
        while index < scalars.count - 1 {
            let next = scalars[index + 1]
            if scalars[index] == "\\", index + 1 < scalars.count - 1, next == "\"" || next == "\\" { index += 1 }
            result.append(scalars[index])
            index += 1
        }
        return String(result)
    }
}
