/// Reads what an option says.
enum FlagValue {
    /// Reads the value of an option.
    ///
    /// - Parameters:
    ///   - text: What was given, if anything.
    ///   - flag: As `--jobs`, for the message.
    ///   - parse: One of the functions of `SettingValue` and `CaptureValue`.
    /// - Returns: nil when nothing was given.
    /// - Throws: `Diagnosis` (usage) for a value that is refused.
    static func read<Value>(
        _ text: String?,
        _ flag: String,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(Diagnosis) -> Value? {
        guard let text else { return nil }
        do {
            return try parse(text)
        } catch {
            throw .usage("\(flag): \(ErrorCatalogue.quoted(text)) \(error.rule)", hint: error.hint)
        }
    }
}
