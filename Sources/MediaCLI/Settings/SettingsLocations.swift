/// Where settings and data live (XDG Base Directory Specification 0.8). Nothing is read from the current directory.
struct SettingsLocations: Sendable, Equatable {
    /// The settings file.
    var configFile: String
    /// Whether the user named the settings file, so that its absence is an error.
    var isConfigFileNamed: Bool
    /// Token store, journal, rescue files, spool.
    var dataDirectory: String
    /// Locks and logs.
    var stateDirectory: String
    /// What can be made again.
    var cacheDirectory: String

    /// Finds the locations: flag, then `MEDIACTL_CONFIG` / `MEDIACTL_DATA_DIR`, then `XDG_*_HOME`, then `HOME`.
    ///
    /// - Parameters:
    ///   - environment: The process environment.
    ///   - configOverride: The value of `--config`.
    ///   - dataOverride: The value of `--data-dir`.
    /// - Throws: `SettingsError` when neither a home directory nor an override says where data goes.
    init(
        environment: [String: String], configOverride: String? = nil, dataOverride: String? = nil
    ) throws(SettingsError) {
        configFile = ""
        isConfigFileNamed = false
        dataDirectory = ""
        stateDirectory = ""
        cacheDirectory = ""
    }
}
