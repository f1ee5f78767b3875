/// What is said when a stop has been heard and something must be awaited first.
enum WaitingMessage {
    /// - Parameters:
    ///   - what: What is awaited.
    ///   - limit: How long; nil for Ctrl-C, after which a person decides.
    /// - Returns: One line.
    static func text(for what: String, limit: Duration?) -> String {
        guard let limit else { return "mediactl: waiting for \(what); press Ctrl-C again to abandon it" }
        let seconds = limit / .seconds(1)
        let number = Int(exactly: seconds).map(String.init) ?? String(seconds)
        return "mediactl: waiting up to \(number) s for \(what)"
    }
}
