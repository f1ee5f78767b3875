internal import MediaCore
package import MediaStore
internal import MediaTransport

/// Reads the members of a response in order. `null` is treated as absent (trap 6); a value of the wrong type or an
/// invalid value is an error that contains the member's name.
struct MemberReader {
    private var cursor: JSONCursor

    init(_ body: [UInt8]) {
        cursor = JSONCursor(body[...])
    }

    // MARK: Structure

    /// Reads an object that fills the whole body; `member` must read or skip the value of each member.
    static func read(
        _ body: [UInt8],
        _ member: (_ name: String, inout MemberReader) throws(PhotoSyncError) -> Void
    ) throws(PhotoSyncError) {
        var members = MemberReader(body)
        try members.enterObject()
        while let name = try members.next() { try member(name, &members) }
        try members.finish()
    }

    /// False for `null`.
    mutating func beginObject(_ name: String) throws(PhotoSyncError) -> Bool {
        guard try isPresent(.object, name) else { return false }
        try read { cursor throws(JSONCursor.Broken) in try cursor.beginObject() }
        return true
    }

    mutating func enterObject() throws(PhotoSyncError) {
        guard try beginObject("response") else { throw Self.unusable("response", "is null") }
    }

    /// nil at the end of the object.
    mutating func next() throws(PhotoSyncError) -> String? {
        try read { cursor throws(JSONCursor.Broken) in try cursor.nextMember() }
    }

    /// False for `null`.
    mutating func beginArray(_ name: String) throws(PhotoSyncError) -> Bool {
        guard try isPresent(.array, name) else { return false }
        try read { cursor throws(JSONCursor.Broken) in try cursor.beginArray() }
        return true
    }

    mutating func nextElement() throws(PhotoSyncError) -> Bool {
        try read { cursor throws(JSONCursor.Broken) in try cursor.nextElement() }
    }

    mutating func skip() throws(PhotoSyncError) {
        try read { cursor throws(JSONCursor.Broken) in try cursor.skip() }
    }

    /// Offset of the next value.
    mutating func start() -> Int { cursor.start() }

    /// Skips an object with the same text as an earlier one; see `JSONCursor.skipRepetition`.
    mutating func skipRepetition(of value: Range<Int>) -> Bool { cursor.skipRepetition(of: value) }

    /// Throws unless the end of the body is reached.
    mutating func finish() throws(PhotoSyncError) {
        guard cursor.isAtEnd() else { throw Self.broken(cursor.broken) }
    }

    // MARK: Values

    mutating func text(_ name: String) throws(PhotoSyncError) -> String? {
        guard try isPresent(.string, name) else { return nil }
        guard let text = try read({ cursor throws(JSONCursor.Broken) in try cursor.string() }) else {
            throw Self.unusable(name, "is not a string")
        }
        return text
    }

    mutating func flag(_ name: String) throws(PhotoSyncError) -> Bool? {
        guard try isPresent(.bool, name) else { return nil }
        return try read { cursor throws(JSONCursor.Broken) in try cursor.bool() }
    }

    /// A non-negative integer.
    mutating func count(_ name: String) throws(PhotoSyncError) -> Int64? {
        guard try isPresent(.number, name) else { return nil }
        let digits = try read { cursor throws(JSONCursor.Broken) in try cursor.number() }
        guard let number = Int64(digits), number >= 0 else { throw Self.unusable(name, "is not a count") }
        return number
    }

    /// A non-empty string.
    mutating func identifier(_ name: String) throws(PhotoSyncError) -> String? {
        let text = try text(name)
        guard text?.isEmpty != true else { throw Self.unusable(name, "is empty") }
        return text
    }

    /// A SHA-256, converted to lowercase.
    mutating func digest(_ name: String) throws(PhotoSyncError) -> String? {
        guard let text = try text(name) else { return nil }
        guard let digest = SHA256Text.lowerCased(text) else { throw Self.unusable(name, "is not a SHA-256") }
        return digest
    }

    /// An RFC 3339 time (trap 2).
    mutating func time(_ name: String) throws(PhotoSyncError) -> PhotoTime? {
        guard let text = try text(name) else { return nil }
        guard let time = PhotoTime(rfc3339: text) else { throw Self.unusable(name, "is not an RFC 3339 time") }
        return time
    }

    // MARK: Errors

    static func require<Value>(_ value: Value?, _ name: String) throws(PhotoSyncError) -> Value {
        guard let value else { throw unusable(name, "is missing") }
        return value
    }

    static func unusable(_ name: String, _ reason: String) -> PhotoSyncError {
        PhotoSyncError(.unexpectedResponse, detail: "\"\(name)\" \(reason)")
    }

    private static func broken(_ error: JSONCursor.Broken) -> PhotoSyncError {
        PhotoSyncError(.unexpectedResponse, detail: "the response is invalid JSON at byte \(error.offset)")
    }

    // MARK: Helpers

    /// Whether the next value is of this kind; false for `null`, which is skipped.
    private mutating func isPresent(_ kind: JSONCursor.Kind, _ name: String) throws(PhotoSyncError) -> Bool {
        switch cursor.kind() {
        case kind: return true
        case .null:
            try read { cursor throws(JSONCursor.Broken) in try cursor.null() }
            return false
        case nil: throw Self.broken(cursor.broken)
        default: throw Self.unusable(name, "has the wrong type")
        }
    }

    private mutating func read<Value>(
        _ step: (inout JSONCursor) throws(JSONCursor.Broken) -> Value
    ) throws(PhotoSyncError) -> Value {
        do { return try step(&cursor) } catch { throw Self.broken(error) }
    }
}

/// Times in the form that PhotoSync servers parse and write (photosync contract section 0 and traps 2 to 5).
extension PhotoTime {
    /// Parses a time; nil for anything that `RFC3339.microseconds` does not parse.
    package init?(rfc3339 text: String) {
        guard let microseconds = RFC3339.microseconds(text) else { return nil }
        self.init(text: text, microseconds: microseconds)
    }

    /// Creates a time in UTC with `Z` from microseconds since 1970; nil outside the years 0000 to 9999.
    package init?(microseconds: Int64) {
        guard let text = RFC3339.text(microseconds: microseconds) else { return nil }
        self.init(text: text, microseconds: microseconds)
    }

    /// The form that is sent: UTC with `Z`, since the server ignores offsets (trap 4).
    ///
    /// - Throws: `PhotoSyncError.invalidDate` outside the years 0000 to 9999.
    func canonicalText() throws(PhotoSyncError) -> String {
        guard let text = RFC3339.text(microseconds: microseconds) else {
            throw PhotoSyncError(.invalidDate, detail: "outside the years 0000 to 9999", value: self.text)
        }
        return text
    }
}
