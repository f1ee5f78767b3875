/// A value and where it came from.
struct Setting<Value: Sendable>: Sendable {
    var value: Value
    var origin: SettingOrigin
}

extension Setting: Equatable where Value: Equatable {}

/// The source of a setting, strongest first.
enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    /// The command line.
    case flag
    /// The environment variable of that name.
    case environment(String)
    /// The profile of that name in the settings file.
    case profile(String)
    /// The top level of the settings file at that path.
    case settingsFile(String)
    /// mediactl's own default.
    case builtIn

    /// For `config show`.
    var description: String {
        switch self {
        case .flag: "command line"
        case .environment(let name): "environment (\(name))"
        case .profile(let name): "profile \(name)"
        case .settingsFile(let path): path
        case .builtIn: "default"
        }
    }
}
