/// A value of a record in SQLite's file format (sqlite.org/fileformat2.html, section 2.1).
enum RecordValue: Equatable {
    case null
    case integer(Int64)
    case text([UInt8])
    case blob([UInt8])
    case real

    var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// Nil for bytes that are not UTF-8.
    var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    var isNull: Bool { self == .null }
    var isText: Bool { if case .text = self { true } else { false } }
}

/// Reads records without SQLite, so that a damaged page costs only the rows that it had. No input makes it trap.
enum DatabaseRecord {
    /// A variable-length integer: at most nine bytes, seven bits each, eight in the last.
    ///
    /// - Returns: nil where the bytes end.
    static func varint(_ bytes: [UInt8], _ position: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard bytes.indices.contains(position) else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 { return Int64(bitPattern: value) }
        }
        return nil
    }

    /// The values of a record.
    ///
    /// - Parameters:
    ///   - bytes: What has it.
    ///   - range: The whole record: header and values fill it exactly.
    /// - Returns: nil for bytes that are not a record.
    static func values(_ bytes: [UInt8], _ range: Range<Int>) -> [RecordValue]? {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
        var position = range.lowerBound
        guard let headerSize = varint(bytes, &position), headerSize > 0, headerSize <= range.count else { return nil }
        let headerEnd = range.lowerBound + Int(headerSize)
        var body = headerEnd
        var values: [RecordValue] = []
        while position < headerEnd {
            guard let type = varint(bytes, &position), position <= headerEnd,
                let value = value(of: type, bytes, &body, end: range.upperBound)
            else { return nil }
            values.append(value)
        }
        return position == headerEnd && body == range.upperBound ? values : nil
    }

    private static func value(of type: Int64, _ bytes: [UInt8], _ position: inout Int, end: Int) -> RecordValue? {
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 1...6:
            let sizes = [1, 2, 3, 4, 6, 8]
            return slice(bytes, &position, sizes[Int(type) - 1], end).map { .integer(integer($0)) }
        case 7: return slice(bytes, &position, 8, end).map { _ in .real }
        case 12...:
            // Nothing that is kept is longer than a few pages.
            guard type < 1 << 24 else { return nil }
            let size = Int(type - 12) / 2
            return slice(bytes, &position, size, end).map { type % 2 == 0 ? .blob(Array($0)) : .text(Array($0)) }
        default: return nil
        }
    }

    private static func slice(_ bytes: [UInt8], _ position: inout Int, _ size: Int, _ end: Int) -> ArraySlice<UInt8>? {
        guard size <= end - position else { return nil }
        defer { position += size }
        return bytes[position..<position + size]
    }

    /// Two's complement, the highest byte first.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        var value: Int64 = (bytes.first ?? 0) & 0x80 == 0 ? 0 : -1
        for byte in bytes { value = value << 8 | Int64(byte) }
        return value
    }
}
