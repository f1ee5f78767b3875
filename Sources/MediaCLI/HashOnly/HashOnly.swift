internal import ArgumentParser

struct HashOnly: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash-only",
        abstract: "Prove that a photo or video existed, without uploading it.",
        discussion: """
            The server receives the SHA-256 of the file, statistics about the depth of the scene, and as much about time, \
            location and device as you allow. The file stays on this machine, encrypted. mediactl hash-only FILE is short \
            for mediactl hash-only send FILE and accepts its options.

            Examples:
              mediactl hash-only register --server https://captures.example.org
              mediactl hash-only photo.jpg --depth photo.npy --dry-run
              mediactl hash-only photo.jpg --depth photo.npy
              mediactl hash-only list
              mediactl hash-only verify photo.jpg
            """,
        subcommands: [
            HashOnlySend.self, HashOnlyRegister.self, HashOnlyList.self, HashOnlyShow.self, HashOnlyRetry.self,
            HashOnlyExport.self, HashOnlyVerify.self, HashOnlySettings.self,
        ],
        defaultSubcommand: HashOnlySend.self
    )
}

/// Without credential options: capture servers identify devices by their signatures.
struct CaptureConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @Option("Profile of the server: mediactl-1 (default) or reference.", value: "profile")
    var captureProfile: String?

    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { choice.flags + network.flags + SettingsFlags([.captureProfile: captureProfile]) }

    static var hintKeys: [SettingKey] { [.captureProfile] }
}
