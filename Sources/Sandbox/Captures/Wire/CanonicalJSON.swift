/// Canonical JSON (RFC 8785) of whatever was received: the sandbox knows nothing here of what members there should be, so
/// it checks the client's own writer.
enum CanonicalJSON {
    /// - Throws: ``UnreadableJSON`` for a member that is there twice and a number beyond binary64, which have no canonical
    ///   form (RFC 7493).
    static func text(of value: ReceivedJSON) throws(UnreadableJSON) -> String {
        switch value {
        case .null: return "null"
        case .bool(let flag): return flag ? "true" : "false"
        case .string(let text): return SerdeJSONEncoder.quoted(text)
        case .number(let text):
            guard let number = Double(text), number.isFinite else { throw UnreadableJSON() }
            return ShortestDecimal(number).ecmaScriptText
        case .array(let elements):
            var texts: [String] = []
            for element in elements { texts.append(try self.text(of: element)) }
            return "[" + texts.joined(separator: ",") + "]"
        case .object(let members):
            guard Set(members.map { Array($0.key.utf8) }).count == members.count else { throw UnreadableJSON() }
            var texts: [String] = []
            // Sorted by UTF-16 code units, which is not the order of the code points.
            for member in members.sorted(by: { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }) {
                texts.append(SerdeJSONEncoder.quoted(member.key) + ":" + (try text(of: member.value)))
            }
            return "{" + texts.joined(separator: ",") + "}"
        }
    }
}
