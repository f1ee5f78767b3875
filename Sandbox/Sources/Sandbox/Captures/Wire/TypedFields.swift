/// The members of a request's object, read as strictly as the real server's structures are: names count with their case,
/// none may be there twice, unknown ones are ignored, `null` is as good as absent for optional ones only.
///
/// What does not fit is thrown as 422 (contract 1.3).
struct TypedFields {
    private let members: [ReceivedJSON.Member]
    /// For messages.
    private let name: String

    init(_ value: ReceivedJSON, _ name: String) throws(CaptureRefusal) {
        guard case .object(let members) = value else { throw .wrongShape("\(name): expected a map") }
        self.members = members
        self.name = name
    }

    /// Whether a member is there and not `null`.
    func has(_ key: String) throws(CaptureRefusal) -> Bool { try optional(key) != nil }

    // MARK: Required

    func string(_ key: String) throws(CaptureRefusal) -> String { try string(key, try required(key)) }

    func bool(_ key: String) throws(CaptureRefusal) -> Bool {
        guard case .bool(let flag) = try required(key) else { throw wrongType(key, "a boolean") }
        return flag
    }

    func double(_ key: String) throws(CaptureRefusal) -> Double { try double(key, try required(key)) }

    /// A binary32.
    func float(_ key: String) throws(CaptureRefusal) -> Float {
        guard case .number(let text) = try required(key) else { throw wrongType(key, "f32") }
        guard let number = SerdeNumber.float(text) else { throw .notJSON }
        return number
    }

    func int32(_ key: String) throws(CaptureRefusal) -> Int32 { try int32(key, try required(key)) }
    /// Bytes in base64; what is none is refused with 400, since the server decodes them by hand.
    func bytes(_ key: String) throws(CaptureRefusal) -> [UInt8] {
        guard let bytes = CaptureAssertion.base64(try string(key)) else { throw .invalid("\(key) must be base64") }
        return bytes
    }

    func fields(_ key: String) throws(CaptureRefusal) -> TypedFields { try TypedFields(try required(key), key) }

    // MARK: Optional

    func optionalString(_ key: String) throws(CaptureRefusal) -> String? {
        guard let value = try optional(key) else { return nil }
        return try string(key, value)
    }

    func optionalDouble(_ key: String) throws(CaptureRefusal) -> Double? {
        guard let value = try optional(key) else { return nil }
        return try double(key, value)
    }

    func optionalInt32(_ key: String) throws(CaptureRefusal) -> Int32? {
        guard let value = try optional(key) else { return nil }
        return try int32(key, value)
    }

    func optionalFields(_ key: String) throws(CaptureRefusal) -> TypedFields? {
        guard let value = try optional(key) else { return nil }
        return try TypedFields(value, key)
    }

    /// Nothing when absent.
    func elements(_ key: String) throws(CaptureRefusal) -> [ReceivedJSON] {
        guard let value = try member(key) else { return [] }
        guard case .array(let elements) = value else { throw wrongType(key, "a sequence") }
        return elements
    }

    // MARK: Reading

    private func string(_ key: String, _ value: ReceivedJSON) throws(CaptureRefusal) -> String {
        guard case .string(let text) = value else { throw wrongType(key, "a string") }
        return text
    }

    private func double(_ key: String, _ value: ReceivedJSON) throws(CaptureRefusal) -> Double {
        guard case .number(let text) = value else { throw wrongType(key, "f64") }
        guard let number = SerdeNumber.double(text) else { throw .notJSON }
        return number
    }

    /// `3.0` and `3e0` are no integers, and neither is `-0`.
    private func int32(_ key: String, _ value: ReceivedJSON) throws(CaptureRefusal) -> Int32 {
        guard case .number(let text) = value, text != "-0", let number = Int32(text) else {
            throw wrongType(key, "i32")
        }
        return number
    }

    private func required(_ key: String) throws(CaptureRefusal) -> ReceivedJSON {
        guard let value = try member(key) else { throw .wrongShape("missing field `\(key)` of \(name)") }
        return value
    }

    private func optional(_ key: String) throws(CaptureRefusal) -> ReceivedJSON? {
        guard let value = try member(key), value != .null else { return nil }
        return value
    }

    private func member(_ key: String) throws(CaptureRefusal) -> ReceivedJSON? {
        let values = members.lazy.filter { $0.key == key }.map(\.value)
        guard values.prefix(2).count < 2 else { throw .wrongShape("duplicate field `\(key)` of \(name)") }
        return values.first
    }

    private func wrongType(_ key: String, _ expected: String) -> CaptureRefusal {
        .wrongShape("\(key): invalid type, expected \(expected)")
    }
}
