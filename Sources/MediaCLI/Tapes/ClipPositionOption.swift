internal import ArgumentParser

/// `--position`, and the options of 0.1.0 that count from 0.
struct ClipPositionOption: ParsableArguments {
    @Option(parsing: .unconditional, help: ArgumentHelp("New position (first clip is 1).", valueName: "n"))
    var position: Int?

    /// - Throws: `ValidationError` unless there is exactly one position.
    func check(old flag: String, _ old: Int?) throws {
        guard position != nil || old != nil else { throw ValidationError("Specify the position: --position N.") }
        guard position == nil || old == nil else {
            throw ValidationError("--position cannot be combined with \(flag).")
        }
        guard position.map({ $0 >= 1 }) ?? true else { throw ValidationError("--position: the first clip is 1.") }
    }

    /// The number of clips before the position.
    func index(old flag: String, _ old: Int?, _ console: Console) -> Int {
        if let position { return position - 1 }
        let index = max(0, min(old ?? 0, .max - 1))
        console.note(Deprecated.note("\(flag) \(old ?? 0)", use: "--position \(index + 1)"))
        return index
    }
}
