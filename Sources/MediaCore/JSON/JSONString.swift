/// Escapes of JSON strings (RFC 8259 section 7).
enum JSONString {
    /// What the bytes between the quotes stand for; nil when that is no text.
    static func unescaped(_ raw: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0c)
            case UInt8(ascii: "n"): bytes.append(0x0a)
            case UInt8(ascii: "r"): bytes.append(0x0d)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(&rest) else { return nil }
                bytes += Array(String(Character(scalar)).utf8)
            case let same? where same == UInt8(ascii: "\"") || same == UInt8(ascii: "\\") || same == UInt8(ascii: "/"):
                bytes.append(same)
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// What `\u` stands before: four hexadecimal digits, or a pair of surrogates.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard (0xd800...0xdbff).contains(first) else { return Unicode.Scalar(first) }
        guard rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else { return nil }
        rest = rest.dropFirst(2)
        guard let second = unit(&rest), (0xdc00...0xdfff).contains(second) else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
        defer { rest = rest.dropFirst(4) }
        return HexText.number(rest.prefix(4), count: 4)
    }
}
