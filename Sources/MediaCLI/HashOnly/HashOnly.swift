internal import ArgumentParser

struct HashOnly: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash-only",
        abstract: "Prove that a photo or video existed, without sending it.",
        discussion: """
            The server gets the SHA-256 of the file, numbers about the depth of the scene, and as much of time, place and \
            device as you allow. The file stays here, encrypted. Without a command, files are proven: mediactl hash-only \
            FILE is mediactl hash-only send FILE, and takes its options.

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

/// Has no credentials: capture servers identify devices by their signatures.
struct CaptureConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @Option("How the server reads captures: mediactl-1 (by default) or reference.", value: "profile")
    var captureProfile: String?

    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags {
        var flags = network.adding(to: choice.flags)
        flags[.captureProfile] = captureProfile
        return flags
    }
}
