/// A yes before something is destroyed: from `--yes`, or from a person at a terminal.
struct Confirmation: Sendable {
    let prompter: Prompter
    /// Whether `--yes` was given.
    let isGiven: Bool

    /// Refuses early when there is neither a yes nor anybody to ask.
    ///
    /// - Parameter question: What would be asked.
    /// - Throws: `Diagnosis` (usage).
    func requireSomebody(for question: String) throws(Diagnosis) {
        guard isGiven || prompter.isAllowed else {
            throw .usage("not a terminal; confirmation required: \(question)", hint: "confirm in advance with --yes")
        }
    }

    /// Shows what will happen and asks.
    ///
    /// - Throws: `Diagnosis` (usage) without a terminal to ask on.
    func ask(_ lines: [String], _ question: String, on console: Console) async throws(Diagnosis) -> Bool {
        try requireSomebody(for: question)
        guard !isGiven else { return true }
        console.announce(lines)
        return await console.context.interruption.asking { await prompter.confirm(question) }
    }
}
