/// Why a value is refused: `rule` follows the quoted value in the message.
struct InvalidValue: Error {
    var rule: String
    var hint: String?
    /// Whether the value may hold a secret and must not be shown.
    var isSecret = false
}

extension InvalidValue {
    /// A word that is none of those that are known.
    init(_ text: String, noneOf known: [String]) {
        let last = known.last ?? ""
        rule =
            known.count == 2
            ? "is neither \(known[0]) nor \(last)"
            : "is none of \(known.dropLast().joined(separator: ", ")) and \(last)"
        hint = Spelling.hint(for: text, among: known)
    }

    /// A word for one of the cases.
    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String
    ) throws(InvalidValue) -> Choice {
        guard let choice = Choice(rawValue: text) else {
            throw InvalidValue(text, noneOf: Choice.allCases.map(\.rawValue))
        }
        return choice
    }
}
