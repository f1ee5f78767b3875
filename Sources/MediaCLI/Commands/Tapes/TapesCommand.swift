internal import ArgumentParser

/// `mediactl tapes …`; the module is called Tapes.
struct TapesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tapes",
        abstract: "Arrange clips into tapes, each with its album in a photo library.",
        discussion: """
            A tape is a list of clips in your order. Its album shows up in your pictures as a folder of links, or in an \
            Immich server; no original is copied, moved or changed. What an album lacks is made up for by the next add, \
            or by mediactl tapes reconcile --apply.

            Examples:
              mediactl tapes create Summer
              mediactl tapes add Summer beach.mp4 sunset.jpg
              mediactl tapes show Summer
              mediactl tapes move Summer "#2" --to 0
              mediactl tapes export Summer -o summer.m3u8
            """,
        subcommands: [
            TapesCreate.self, TapesList.self, TapesShow.self, TapesRename.self, TapesDuplicate.self, TapesDelete.self,
            TapesAdd.self, TapesInsert.self, TapesRemove.self, TapesMove.self, TapesSet.self, TapesRelink.self,
            TapesExport.self, TapesReconcile.self, TapesAlbum.self, TapesLibrary.self,
        ]
    )
}
