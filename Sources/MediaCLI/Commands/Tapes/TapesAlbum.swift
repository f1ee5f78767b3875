internal import ArgumentParser

/// `mediactl tapes album …`
struct TapesAlbum: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album",
        abstract: "Look at the album of a tape, name another one, or forget it.",
        discussion: """
            Examples:
              mediactl tapes album show Summer
              mediactl tapes album link Summer 0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10
            """,
        subcommands: [TapesAlbumShow.self, TapesAlbumLink.self, TapesAlbumUnlink.self]
    )
}
