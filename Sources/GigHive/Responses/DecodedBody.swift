internal import CZlib
internal import MediaCore
internal import MediaSystem

/// The texts inside the bytes of a response: decompressed, converted to UTF-8, and decoded from Base64.
///
/// Encodings are recognized by the bytes alone: headers may be missing or wrong, and a response left by an interrupted
/// run has none.
struct DecodedBody {
    /// The texts; each is the content of the one before it.
    private(set) var texts: [[UInt8]] = []
    /// Whether the innermost bytes are text. Otherwise the content is unknown.
    private(set) var isText = true

    /// Maximum number of layers; more indicate an attack.
    private static let deepest = 4

    init(_ body: [UInt8]) {
        var layer = body
        for _ in 0..<Self.deepest {
            if let wide = WideText.decoding(layer) {
                layer = wide
                continue
            }
            let hasNoControls = Self.isText(layer)
            // A short compressed response may have no control characters, but it is hardly ever UTF-8.
            if !hasNoControls || String(validating: layer, as: UTF8.self) == nil,
                let inflation = Inflation.decoding(layer[...]),
                hasNoControls ? inflation.end == .complete : inflation.end != .invalid
            {
                layer = inflation.bytes
                continue
            }
            texts.append(layer)
            isText = hasNoControls
            guard hasNoControls, let content = Base64.decoding(layer[...]) else { return }
            layer = content
        }
        texts.append(layer)
        isText = false
    }

    /// Whether bytes are text in an ASCII-compatible encoding: almost no control characters.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        let controls = bytes.count { byte in
            byte == 0x7f || (byte < 0x20 && !(0x09...0x0d).contains(byte) && byte != 0x1b)
        }
        return controls * 100 <= bytes.count
    }
}

/// Text in UTF-16 and UTF-32, with or without a byte order mark.
private enum WideText {
    private struct Form {
        var unit: Int
        var isBigEndian: Bool
        var mark: [UInt8]
    }

    /// The longer marks come first: a UTF-32 mark may begin with a UTF-16 mark.
    private static let forms = [
        Form(unit: 4, isBigEndian: false, mark: [0xff, 0xfe, 0, 0]),
        Form(unit: 4, isBigEndian: true, mark: [0, 0, 0xfe, 0xff]),
        Form(unit: 2, isBigEndian: false, mark: [0xff, 0xfe]),
        Form(unit: 2, isBigEndian: true, mark: [0xfe, 0xff]),
    ]

    /// The text in UTF-8; nil if the bytes are not wide text.
    static func decoding(_ bytes: [UInt8]) -> [UInt8]? {
        if let marked = forms.first(where: { bytes.starts(with: $0.mark) }) {
            return decode(bytes.dropFirst(marked.mark.count), marked)
        }
        return forms.first { isLikely(bytes, $0) }.flatMap { decode(bytes[...], $0) }
    }

    /// Whether nearly all units are ASCII characters.
    private static func isLikely(_ bytes: [UInt8], _ form: Form) -> Bool {
        let units = units(bytes.prefix(1024), form)
        return units.count >= 8 && units.count { (1...0xff).contains($0) } * 10 >= units.count * 9
    }

    private static func decode(_ bytes: ArraySlice<UInt8>, _ form: Form) -> [UInt8] {
        // The file of an interrupted run may lack the zeros of its last character.
        let units = units(bytes + Array(repeating: 0, count: form.unit - 1), form)
        if form.unit == 2 {
            return Array(String(decoding: units.map { UInt16(truncatingIfNeeded: $0) }, as: UTF16.self).utf8)
        }
        return Array(String(decoding: units, as: UTF32.self).utf8)
    }

    /// The complete units in bytes.
    private static func units(_ bytes: ArraySlice<UInt8>, _ form: Form) -> [UInt32] {
        (0..<bytes.count / form.unit).map { index in
            let unit = bytes.dropFirst(index * form.unit).prefix(form.unit)
            return (form.isBigEndian ? Array(unit) : unit.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
}

/// Base64 (RFC 4648), in either alphabet, with or without line breaks and padding.
enum Base64 {
    /// The content of a text that is Base64 throughout, even in quotes or after `base64,`; nil for any other text.
    static func decoding(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = text
        if let label = ResponseText.range(of: "base64,", in: text.prefix(128)) { rest = text[label.upperBound...] }
        var content: [UInt8] = []
        content.reserveCapacity(rest.count / 4 * 3)
        var buffer: UInt32 = 0
        var count = 0
        for byte in rest where !isIgnored(byte) {
            guard let digit = digit(byte) else { return nil }
            buffer = buffer << 6 | digit
            count += 1
            if count % 4 == 0 {
                content += [UInt8(buffer >> 16 & 0xff), UInt8(buffer >> 8 & 0xff), UInt8(buffer & 0xff)]
                buffer = 0
            }
        }
        // Anything shorter, such as one word, is not an encoded response.
        guard count >= 24 else { return nil }
        if count % 4 == 2 { content.append(UInt8(buffer >> 4 & 0xff)) }
        if count % 4 == 3 { content += [UInt8(buffer >> 10 & 0xff), UInt8(buffer >> 2 & 0xff)] }
        return isContent(content) ? content : nil
    }

    /// Whether decoded bytes are something that a server encodes: JSON, XML, a form, or compressed data. A token alone
    /// has only characters that Base64 also uses.
    private static func isContent(_ bytes: [UInt8]) -> Bool {
        if bytes.allSatisfy({ $0 >= 0x20 || (0x09...0x0d).contains($0) }) {
            return String(validating: bytes, as: UTF8.self) != nil
        }
        return (bytes.first == 0x1f || bytes.first == 0x78) && Inflation.decoding(bytes[...])?.end == .complete
    }

    /// Line breaks and padding. Spaces occur between words, not in Base64.
    private static func isIgnored(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "\"")
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5a: UInt32(byte) - 0x41
        case 0x61...0x7a: UInt32(byte) - 0x61 + 26
        case 0x30...0x39: UInt32(byte) - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Decompresses DEFLATE (RFC 1951) in a gzip (RFC 1952) or zlib (RFC 1950) wrapper, or without one.
///
/// libcurl is not used for this: it would discard a truncated stream, whose decoded part may contain the delete token.
struct Inflation: Equatable {
    enum End: Error {
        /// The stream is complete, and its checksum, if it has one, is correct.
        case complete
        /// The input ended inside the stream.
        case cutOff
        /// Not DEFLATE, an incorrect checksum, or more output than the limit.
        case invalid
    }

    var bytes: [UInt8]
    var end: End

    /// Maximum number of decoded bytes.
    static let limit = 8 << 20
    /// Maximum number of decoded bytes per byte of input; text stays far below it.
    static let highestRatio = 200

    /// Decodes a response body. Returns nil if it has neither a gzip nor a zlib header and is not one complete DEFLATE
    /// stream.
    static func decoding(_ body: ArraySlice<UInt8>) -> Inflation? {
        if body.starts(with: [0x1f, 0x8b, 8]) {
            return gzip(body)
        }
        if hasZlibHeader(body) {
            var (result, rest) = inflated(body.dropFirst(2), limit: bound(body))
            if result.end == .complete, rest.count >= 4, value(bigEndian: rest.prefix(4)) != adler32(result.bytes) {
                result.end = .invalid
            }
            return result
        }
        // The file of an interrupted run may lack the zeros at its end.
        for padding in 0...1 {
            let (result, rest) = inflated(body + Array(repeating: 0, count: padding), limit: bound(body))
            if result.end == .complete, rest.isEmpty, !result.bytes.isEmpty { return result }
        }
        return nil
    }

    /// All members of a gzip file, one after the other.
    private static func gzip(_ body: ArraySlice<UInt8>) -> Inflation {
        var result = Inflation(bytes: [], end: .complete)
        var rest = body
        repeat {
            guard let content = skippingGzipHeader(rest) else {
                result.end = .cutOff
                break
            }
            let member: Inflation
            (member, rest) = inflated(content, limit: max(bound(body) - result.bytes.count, 0))
            result.end = member.end
            result.bytes += member.bytes
            guard member.end == .complete, rest.count >= 8 else { break }
            guard value(bigEndian: rest.prefix(4).reversed()) == CyclicCheck.gzip.of(member.bytes) else {
                result.end = .invalid
                break
            }
            rest = rest.dropFirst(8)
        } while rest.starts(with: [0x1f, 0x8b, 8])
        return result
    }

    /// One DEFLATE stream without a wrapper, decoded as far as possible, and the bytes after it.
    private static func inflated(
        _ input: ArraySlice<UInt8>,
        limit: Int
    ) -> (content: Inflation, rest: ArraySlice<UInt8>) {
        // zlib stores the address of the stream, so it must not change between the calls.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // A window of 15 bits; negative, because the wrapper is read here.
        guard inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return (Inflation(bytes: [], end: .invalid), input)
        }
        defer { inflateEnd(stream) }
        var code = Z_OK
        var input = input
        // The byte beyond the limit shows that there is more.
        var output = [UInt8](unsafeUninitializedCapacity: limit + 1) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = uInt(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = uInt(output.count)
                code = inflate(stream, Z_FINISH)
            }
            count = Int(stream.pointee.total_out)
        }
        let end: End =
            switch code {
            case _ where output.count > limit: .invalid
            case Z_STREAM_END: .complete
            case Z_BUF_ERROR: .cutOff
            default: .invalid
            }
        output.removeLast(max(0, output.count - limit))
        return (Inflation(bytes: output, end: end), input.suffix(Int(stream.pointee.avail_in)))
    }

    private static func skippingGzipHeader(_ body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard body.count >= 10 else { return nil }
        let flags = body[body.startIndex + 3]
        var rest = body.dropFirst(10)
        if flags & 4 != 0 {
            guard rest.count >= 2 else { return nil }
            let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2 + count)
        }
        for flag: UInt8 in [8, 16] where flags & flag != 0 {
            guard let zero = rest.firstIndex(of: 0) else { return nil }
            rest = rest[(zero + 1)...]
        }
        return flags & 2 == 0 ? rest : rest.dropFirst(2)
    }

    private static func hasZlibHeader(_ body: ArraySlice<UInt8>) -> Bool {
        guard body.count >= 2 else { return false }
        let method = body[body.startIndex]
        let header = UInt16(method) << 8 | UInt16(body[body.startIndex + 1])
        return method & 0x0f == 8 && method >> 4 <= 7 && header % 31 == 0 && header & 0x20 == 0
    }

    private static func bound(_ body: ArraySlice<UInt8>) -> Int {
        min(limit, max(64 << 10, body.count.multipliedReportingOverflow(by: highestRatio).partialValue))
    }

    private static func value(bigEndian bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        UInt32(truncatingIfNeeded: CZlib.adler32(1, bytes, uInt(bytes.count)))
    }
}
