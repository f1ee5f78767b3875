/// The members of a request as Go parses them: unknown keys and the case of keys are ignored, the last of several equal
/// keys counts, and `null` is the same as absent (photosync contract 0).
struct GoFields {
    private var members: [String: JSONValue] = [:]

    /// Treats `null` as an empty object.
    init(body: [UInt8]) throws(UnreadableJSON) {
        switch try JSONValue(body) {
        case .object(let members): for member in members { self.members[member.key.lowercased()] = member.value }
        case .null: break
        default: throw UnreadableJSON()
        }
    }

    func string(_ key: String) throws(UnreadableJSON) -> String? { try read(key) { $0.string } }
    func bool(_ key: String) throws(UnreadableJSON) -> Bool? {
        try read(key) { if case .bool(let flag) = $0 { flag } else { nil } }
    }
    func int(_ key: String) throws(UnreadableJSON) -> Int? {
        try read(key) { if case .number(let text) = $0 { Int(text) } else { nil } }
    }

    func time(_ key: String) throws(UnreadableJSON) -> Timestamp? {
        try read(key) { $0.string.flatMap { Timestamp($0, isWallClock: true) } }
    }

    func strings(_ key: String) throws(UnreadableJSON) -> [String] {
        try read(key) { value in
            guard case .array(let elements) = value else { return nil }
            let texts = elements.compactMap { $0 == .null ? "" : $0.string }
            return texts.count == elements.count ? texts : nil
        } ?? []
    }

    private func read<T>(_ key: String, _ read: (JSONValue) -> T?) throws(UnreadableJSON) -> T? {
        guard let value = members[key.lowercased()], value != .null else { return nil }
        guard let result = read(value) else { throw UnreadableJSON() }
        return result
    }
}
