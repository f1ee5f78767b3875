internal import Glibc
internal import MediaCore
internal import MediaFiles

/// A setting that cannot be used. Always exit code 2.
struct SettingsError: Error, Sendable, Equatable {
    /// The settings file, when the setting stands in one.
    var file: String?
    /// Line in `file`, from 1.
    var line: Int?
    /// What was set, as the user spelled it: `--retries`, `MEDIACTL_RETRIES`, `profiles.work.retries`.
    var key: String?
    /// The refused value; never a secret.
    var value: String?
    /// What is wrong, or what would be right.
    var rule: String
    /// What to do next.
    var hint: String?

    /// One line without the hint: lower case, no full stop.
    ///
    /// For example `/home/a/.config/mediactl/config.yaml:3: retries: "many" is not a whole number`.
    var message: String {
        let place = file.map { $0 + (line.map { ":\($0)" } ?? "") }
        // `HOME` speaks for itself in the rule; every other key is named first.
        let subject = key.flatMap { $0 == "HOME" ? nil : $0 }
        let statement = value.map { "\"\($0)\" \(rule)" } ?? rule
        return TerminalText.escaped([place, subject, statement].compactMap { $0 }.joined(separator: ": "))
    }
}

extension SettingsError {
    /// A file of settings that cannot be read, or that others can change.
    init(refusing path: String, _ failure: SmallFile.Failure) {
        let quoted = TerminalText.escaped(path)
        switch failure {
        case .foreign:
            self.init(file: path, rule: "refused: \(failure.reason)", hint: "run: sudo chown \(geteuid()) '\(quoted)'")
        case .writableByOthers:
            self.init(file: path, rule: "refused: \(failure.reason)", hint: "run: chmod go-w '\(quoted)'")
        default: self.init(file: path, rule: "cannot be read: \(failure.reason)")
        }
    }
}
