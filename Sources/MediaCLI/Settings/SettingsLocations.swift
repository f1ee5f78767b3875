/// Where settings and data live (XDG Base Directory Specification 0.8). Nothing is read from the current directory.
struct SettingsLocations: Sendable, Equatable {
    /// The settings file.
    var configFile: String
    /// Whether the user named the settings file, so that its absence is an error.
    var isConfigFileNamed: Bool
    /// Token store, journal, rescue files, spool.
    var dataDirectory: String
    /// What can be made again.
    var cacheDirectory: String

    /// The pins of servers that were trusted at their first contact: beside the settings file, which is never rewritten.
    var knownServersFile: String {
        let directory = configFile.lastIndex(of: "/").map { configFile[...$0] } ?? ""
        return directory + KnownServers.fileName
    }

    /// Finds the locations: flag, then `MEDIACTL_CONFIG` / `MEDIACTL_DATA_DIR`, then `XDG_*_HOME`, then `HOME`.
    ///
    /// Without a home directory everything that no variable places elsewhere lives in the data directory.
    ///
    /// - Parameters:
    ///   - environment: The process environment.
    ///   - configOverride: The value of `--config`.
    ///   - dataOverride: The value of `--data-dir`.
    /// - Throws: `SettingsError` when neither a home directory nor an override says where data goes.
    init(
        environment: [String: String],
        configOverride: String? = nil,
        dataOverride: String? = nil
    ) throws(SettingsError) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        // "All paths set in these environment variables must be absolute. If an implementation encounters a relative
        // path in any of these variables it should consider the path invalid and ignore it."
        func absolute(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        func directory(_ name: String, below home: String) -> String? {
            (absolute(name) ?? absolute("HOME").map { $0 + home }).map { $0 + "/mediactl" }
        }

        let namedData = dataOverride ?? variable("MEDIACTL_DATA_DIR")
        guard let data = namedData ?? directory("XDG_DATA_HOME", below: "/.local/share") else {
            throw SettingsError(
                key: "HOME",
                rule: "there is no home directory to keep data in: HOME is not set to an absolute path",
                hint: "specify a directory with --data-dir"
            )
        }
        let namedConfig = configOverride ?? variable("MEDIACTL_CONFIG")
        isConfigFileNamed = namedConfig != nil
        configFile = namedConfig ?? (directory("XDG_CONFIG_HOME", below: "/.config") ?? data) + "/config.yaml"
        dataDirectory = data
        cacheDirectory = directory("XDG_CACHE_HOME", below: "/.cache") ?? data + "/cache"
    }
}
