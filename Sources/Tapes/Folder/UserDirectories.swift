/// The user's directory of pictures (tapes contract section 5; xdg-user-dirs).
public enum UserDirectories {
    /// Reads `user-dirs.dirs` in the configuration directory.
    ///
    /// - Parameter environment: `HOME` and `XDG_CONFIG_HOME` count.
    /// - Returns: The directory of pictures, absolute, as bytes; nil when there is none, or no home.
    public static func pictures(environment: [String: String]) -> [UInt8]? { nil }
}
