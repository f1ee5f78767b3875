internal import ArgumentParser

/// `--position`, and the 0.1.0 options, which count from 0.
struct ClipPositionOption: ParsableArguments {
    @Option("New position (first clip is 1).", value: "n", parsing: .unconditional)
    var position: Int?

    /// - Throws: `ValidationError` unless there is exactly one position.
    func check(old flag: String, _ old: Int?) throws {
        try require(position != nil || old != nil, "Specify the position: --position N.")
        try require(position == nil || old == nil, "--position cannot be combined with \(flag).")
        try require(position.map({ $0 >= 1 }) ?? true, "--position: the first clip is 1.")
    }

    /// The number of clips before the position.
    func index(old flag: String, _ old: Int?, _ console: Console) -> Int {
        if let position { return position - 1 }
        let index = max(0, min(old ?? 0, .max - 1))
        console.note(Deprecated.note("\(flag) \(old ?? 0)", use: "--position \(index + 1)"))
        return index
    }
}
