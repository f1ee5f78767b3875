/// What the command line says about settings; nil where it says nothing.
///
/// Numbers, durations and rates stay text here, so that one parser and one kind of error serve flags, environment and
/// settings file alike.
struct SettingsFlags: Sendable, Equatable {
    var server: String?
    var profile: String?
    var user: String?
    var caFile: String?
    var pinnedKey: String?
    var insecure: Bool?
    var allowHTTP: Bool?
    var http2: Bool?
    var connectTimeout: String?
    var stallTimeout: String?
    var responseTimeout: String?
    /// The old name of `responseTimeout`.
    var answerTimeout: String?
    var finishTimeout: String?
    var settleTimeout: String?
    var limitRate: String?
    var retries: String?
    var color: String?
    var orgName: String?
    var eventType: String?
    var jobs: String?
    var transport: String?
    var chunkSize: String?
    var captureProfile: String?
    var libraryURL: String?
    var albumsLibrary: String?

    /// The given flags, except `--profile`, which selects and does not set.
    var values: [SettingKey: String] {
        let all: [SettingKey: String?] = [
            .server: server, .user: user, .caFile: caFile, .pinnedKey: pinnedKey,
            .insecure: insecure.map(String.init), .allowHTTP: allowHTTP.map(String.init),
            .http2: http2.map(String.init), .connectTimeout: connectTimeout, .stallTimeout: stallTimeout,
            .responseTimeout: responseTimeout ?? answerTimeout, .finishTimeout: finishTimeout,
            .settleTimeout: settleTimeout, .limitRate: limitRate, .retries: retries, .color: color,
            .orgName: orgName, .eventType: eventType, .jobs: jobs, .transport: transport, .chunkSize: chunkSize,
            .captureProfile: captureProfile, .libraryURL: libraryURL, .albumsLibrary: albumsLibrary,
        ]
        return all.compactMapValues { $0 }
    }
}
