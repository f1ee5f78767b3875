internal import ArgumentParser
internal import HashCapture
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport

struct MediactlCommand: ParsableCommand {
    static let version = "0.2.0-dev"

    static let configuration = CommandConfiguration(
        commandName: "mediactl",
        abstract: """
            Upload media to GigHive servers, sync photos with PhotoSync servers, submit hashes to capture servers (RealityCam), \
            and collect clips in albums (Immich, or folders of links).
            """,
        discussion: """
            Delete tokens are stored, so that you can delete what you have uploaded. S3, WebDAV, SFTP and Google Photos are \
            not supported.

            Examples:
              export MEDIACTL_SERVER=https://media.example.org MEDIACTL_USER=uploader
              mediactl upload clip.mp4 --password-file secret.txt
              mediactl uploads list
              mediactl uploads delete 18
              mediactl login --server https://photos.example.org --api-key-file key.txt
              mediactl sync --server https://photos.example.org

            The password may also be in MEDIACTL_PASSWORD or ~/.netrc; otherwise you are prompted.
            """,
        version: VersionText.program,
        subcommands: [
            Upload.self, Uploads.self, MediaCommand.self, Sync.self, ClaimLegacy.self, HashOnly.self, TapesCommand.self,
            LogIn.self, LogOut.self, Doctor.self, Smoke.self, StoreCommand.self, Config.self, Help.self,
        ]
    )

    // Declared here because these flags are also accepted before the command's name.
    @OptionGroup(visibility: .hidden) var global: GlobalOptions
    @OptionGroup(visibility: .hidden) var connection: UploadConnectionOptions<ConnectionOptions>
}

/// The output of `--version`: mediactl, then the libraries in use, one per line.
enum VersionText {
    /// The only line passed to the parser; the libraries are queried only for `--version`.
    static let program = "mediactl \(MediactlCommand.version)"

    static var lines: [String] {
        let tls = LibcurlVersion.tls.map { " (\($0))" } ?? ""
        let libraries = [
            "libcurl \(LibcurlVersion.number)\(tls)",
            "OpenSSL \(OpenSSLVersion.number)",
            "SQLite \(SQLiteVersion.number)",
        ]
        return [program] + libraries + ImageLibraries.versions.map { "\($0.name) \($0.number)" }
    }
}
