/// Why a value is refused: `rule` follows the quoted value in the message.
struct InvalidValue: Error {
    var rule: String
    var hint: String?
    /// Whether the value may hold a secret and must not be shown.
    var isSecret = false
}
