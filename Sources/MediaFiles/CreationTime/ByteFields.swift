extension [UInt8] {
    /// A whole number, most significant byte first; nil beyond the end.
    func bigEndian(at offset: Int, count: Int) -> UInt64? {
        guard offset >= 0, count <= 8, offset + count <= self.count else { return nil }
        return self[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A whole number, least significant byte first; nil beyond the end.
    func littleEndian(at offset: Int, count: Int) -> UInt64? {
        guard offset >= 0, count <= 8, offset + count <= self.count else { return nil }
        return self[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Four characters; empty beyond the end.
    func fourCharacters(at offset: Int) -> String {
        guard offset + 4 <= count else { return "" }
        return String(decoding: self[offset..<offset + 4], as: UTF8.self)
    }
}
