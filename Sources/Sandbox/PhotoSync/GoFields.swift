/// The members of a request's object, read with Go's leniency: unknown keys are ignored, the case of keys too, the last
/// of several wins, and `null` is as good as absent (photosync contract 0).
struct GoFields: Equatable {
    private var members: [String: ReceivedJSON] = [:]

    /// Reads a body; `null` is an object without members, and what follows the value is not looked at.
    init(body: [UInt8]) throws(UnreadableJSON) {
        switch try ReceivedJSON(beginningOf: body) {
        case .object(let members):
            for member in members { self.members[member.key.lowercased()] = member.value }
        case .null: break
        default: throw UnreadableJSON()
        }
    }

    /// Nil when absent or `null`.
    private subscript(key: String) -> ReceivedJSON? {
        members[key.lowercased()].flatMap { $0 == .null ? nil : $0 }
    }

    func string(_ key: String) throws(UnreadableJSON) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw UnreadableJSON()
        }
    }

    func int(_ key: String) throws(UnreadableJSON) -> Int? {
        switch self[key] {
        case nil: return nil
        case .number(let text)?:
            guard let number = Int(text) else { throw UnreadableJSON() }
            return number
        default: throw UnreadableJSON()
        }
    }

    func bool(_ key: String) throws(UnreadableJSON) -> Bool? {
        switch self[key] {
        case nil: return nil
        case .bool(let flag)?: return flag
        default: throw UnreadableJSON()
        }
    }

    func strings(_ key: String) throws(UnreadableJSON) -> [String] {
        switch self[key] {
        case nil: return []
        case .array(let elements)?:
            var texts: [String] = []
            for element in elements {
                switch element {
                case .string(let text): texts.append(text)
                case .null: texts.append("")
                default: throw UnreadableJSON()
                }
            }
            return texts
        default: throw UnreadableJSON()
        }
    }

    func time(_ key: String) throws(UnreadableJSON) -> GoTime? {
        guard let text = try string(key) else { return nil }
        guard let time = GoTime(text) else { throw UnreadableJSON() }
        return time
    }
}
