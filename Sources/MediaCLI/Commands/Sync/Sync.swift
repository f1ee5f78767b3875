internal import ArgumentParser

/// `mediactl sync …`
struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Know, send and fetch the photos of a PhotoSync server.",
        discussion: """
            Without a command, what has changed on the server is listed into the local index: mediactl sync is \
            mediactl sync pull, and takes its options. Local files are never deleted. The API key is the one of \
            mediactl login, unless another is given.

            Examples:
              mediactl login --server https://photos.example.org
              mediactl sync
              mediactl sync --full
              mediactl sync push Pictures
              mediactl sync download --missing --to Pictures
              mediactl sync verify
            """,
        subcommands: [
            SyncPull.self, SyncStatusCommand.self, SyncList.self, SyncPush.self, SyncDownload.self, SyncVerify.self,
        ],
        defaultSubcommand: SyncPull.self
    )
}
