/// The members of a request, parsed as by the real server: names are case-sensitive and unique, unknown members are
/// ignored, and `null` is valid only for optional members. Errors are thrown as 422 (contract 1.3).
struct TypedFields {
    private typealias Read<T> = (_ value: JSONValue, _ key: String) throws(CaptureRefusal) -> T

    private let members: [JSONValue.Member]
    private let name: String

    init(_ value: JSONValue, _ name: String) throws(CaptureRefusal) {
        guard let members = value.members else { throw .wrongShape("\(name): expected a map") }
        self.members = members
        self.name = name
    }

    /// False for `null`.
    func has(_ key: String) throws(CaptureRefusal) -> Bool { try member(key).map { $0 != .null } ?? false }

    func string(_ key: String) throws(CaptureRefusal) -> String { try required(key, Self.string) }
    func double(_ key: String) throws(CaptureRefusal) -> Double { try required(key, Self.double) }
    func int32(_ key: String) throws(CaptureRefusal) -> Int32 { try required(key, Self.int32) }
    func fields(_ key: String) throws(CaptureRefusal) -> TypedFields { try required(key, TypedFields.init) }

    func bool(_ key: String) throws(CaptureRefusal) -> Bool {
        guard case .bool(let flag) = try required(key, { value, _ in value }) else {
            throw Self.wrongType(key, "a boolean")
        }
        return flag
    }

    func float(_ key: String) throws(CaptureRefusal) -> Float {
        guard case .number(let text) = try required(key, { value, _ in value }) else {
            throw Self.wrongType(key, "f32")
        }
        guard let number = SerdeNumber.float(text) else { throw .notJSON }
        return number
    }

    /// Base64; invalid base64 is refused with 400.
    func bytes(_ key: String) throws(CaptureRefusal) -> [UInt8] {
        guard let bytes = base64Bytes(try string(key)) else { throw .invalid("\(key) must be base64") }
        return bytes
    }

    func optionalString(_ key: String) throws(CaptureRefusal) -> String? { try optional(key, Self.string) }
    func optionalDouble(_ key: String) throws(CaptureRefusal) -> Double? { try optional(key, Self.double) }
    func optionalInt32(_ key: String) throws(CaptureRefusal) -> Int32? { try optional(key, Self.int32) }
    func optionalFields(_ key: String) throws(CaptureRefusal) -> TypedFields? { try optional(key, TypedFields.init) }

    /// Empty if absent.
    func elements(_ key: String) throws(CaptureRefusal) -> [JSONValue] {
        guard let value = try member(key) else { return [] }
        guard case .array(let elements) = value else { throw Self.wrongType(key, "a sequence") }
        return elements
    }

    private static func string(_ value: JSONValue, _ key: String) throws(CaptureRefusal) -> String {
        guard let text = value.string else { throw wrongType(key, "a string") }
        return text
    }

    private static func double(_ value: JSONValue, _ key: String) throws(CaptureRefusal) -> Double {
        guard case .number(let text) = value else { throw wrongType(key, "f64") }
        guard let number = SerdeNumber.double(text) else { throw .notJSON }
        return number
    }

    /// `3.0`, `3e0` and `-0` are not integers.
    private static func int32(_ value: JSONValue, _ key: String) throws(CaptureRefusal) -> Int32 {
        guard case .number(let text) = value, text != "-0", let number = Int32(text) else {
            throw wrongType(key, "i32")
        }
        return number
    }

    private func required<T>(_ key: String, _ read: Read<T>) throws(CaptureRefusal) -> T {
        guard let value = try member(key) else { throw .wrongShape("missing field `\(key)` of \(name)") }
        return try read(value, key)
    }

    private func optional<T>(_ key: String, _ read: Read<T>) throws(CaptureRefusal) -> T? {
        guard let value = try member(key), value != .null else { return nil }
        return try read(value, key)
    }

    private func member(_ key: String) throws(CaptureRefusal) -> JSONValue? {
        let values = members.filter { $0.key == key }.map(\.value)
        guard values.count < 2 else { throw .wrongShape("duplicate field `\(key)` of \(name)") }
        return values.first
    }

    private static func wrongType(_ key: String, _ expected: String) -> CaptureRefusal {
        .wrongShape("\(key): invalid type, expected \(expected)")
    }
}
