internal import ArgumentParser

/// `mediactl tapes library …`
struct TapesLibrary: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library",
        abstract: "Look at the library that holds the albums, set it up, ask for access.",
        discussion: """
            Without settings it is a folder of links in your pictures. With library_url, or albums.library: immich, it is \
            an Immich server.

            Examples:
              mediactl tapes library status
              mediactl tapes library init --library-url https://photos.example.org \\
                --api-key-file key.txt
            """,
        subcommands: [TapesLibraryStatus.self, TapesLibraryInit.self, TapesLibraryGrant.self]
    )
}
