/// The few forms of DER that are needed to hand OpenSSL what came in another form.
enum DER {
    static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// A non-negative integer of these big-endian bytes.
    static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        return element(0x02, (needsZero ? [0] : []) + digits)
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        var rest = content.count
        repeat {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        } while rest > 0
        let isShort = content.count < 128
        return [tag] + (isShort ? length : [0x80 | UInt8(length.count)] + length) + content
    }
}
