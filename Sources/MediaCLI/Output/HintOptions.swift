internal import MediaCore
internal import MediaFiles

/// `--server` and `--user` of the command line. A command in a hint needs them as well: without them, it would use the
/// server of the environment or the settings, or none.
struct HintOptions: Sendable {
    var server: String?
    var user: String?
    /// `--data-dir`, which a command for the store needs as well.
    var dataDirectory: String?

    /// A hint whose command at its end asks a server, with the options of the command line that this command lacks.
    func added(to hint: String) -> String {
        if let dataDirectory, hint.contains(/mediactl store (repair$|restore )/) {
            return "\(hint) --data-dir \(Self.word(dataDirectory))"
        }
        let form =
            /mediactl (media (?:show|list|find|delete)|uploads delete)(?: (?:[0-9a-f]+|--[a-z0-9-]+|keep|remove))*$/
        guard let match = hint.firstMatch(of: form) else { return hint }
        var options = server.map { " --server \(Self.word($0))" } ?? ""
        if let user {
            // Another user's login is the reason for a hint at the administrator.
            options += " --user \(match.0.contains("--as-admin") ? "admin" : Self.word(user))"
        }
        return hint + options
    }

    /// A record whose error has the hint that is printed.
    func added(to record: JSONObject) -> JSONObject {
        guard server != nil || user != nil || dataDirectory != nil,
            case .object(let error)? = record.members.first(where: { $0.name == "error" })?.value,
            case .string(let hint)? = error.members.first(where: { $0.name == "hint" })?.value
        else { return record }
        return record.replacing(["error": .object(error.replacing(["hint": .string(added(to: hint))]))])
    }

    /// A value as a word of a shell.
    static func word(_ value: String) -> String {
        let isPlain = { (scalar: Unicode.Scalar) in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                || "._:/@%+-".unicodeScalars.contains(scalar)
        }
        guard !value.unicodeScalars.allSatisfy(isPlain) else { return value }
        return "'" + TerminalText.escaped(value).replacing("'", with: "'\\''") + "'"
    }
}
