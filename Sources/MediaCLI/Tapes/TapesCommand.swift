internal import ArgumentParser

/// `mediactl tapes`. `Tapes` is the name of the module.
struct TapesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tapes",
        abstract: "Arrange clips into tapes, each with its album in a photo library.",
        discussion: """
            A tape is an ordered list of clips. Its album is a folder of links in your Pictures directory, or an album \
            on an Immich server; originals are never copied, moved or changed. Missing clips are added to the album by \
            the next add, or by mediactl tapes reconcile --apply.

            Examples:
              mediactl tapes create Summer
              mediactl tapes add Summer beach.mp4 sunset.jpg
              mediactl tapes show Summer
              mediactl tapes move Summer 2 --position 1
              mediactl tapes export Summer -o summer.m3u8
            """,
        subcommands: [
            TapesCreate.self, TapesList.self, TapesShow.self, TapesRename.self, TapesDuplicate.self, TapesDelete.self,
            TapesAdd.self, TapesInsert.self, TapesRemove.self, TapesMove.self, TapesSet.self, TapesRelink.self,
            TapesExport.self, TapesReconcile.self, TapesVerify.self, TapesRepair.self, TapesAlbum.self,
            TapesLibrary.self,
        ]
    )
}

/// Help shared by several `tapes` commands.
enum TapeHelp {
    static let tape = ArgumentHelp(
        "Tape: its ID, the first 4 or more characters of its ID, or its title.",
        valueName: "tape"
    )
    static let clip = ArgumentHelp(
        "Clip: its number (first is 1), file name, ID or the first 4 or more characters of its ID.",
        valueName: "clip"
    )
}

extension RawArguments {
    /// A title; unlike a path, it must be valid text.
    ///
    /// - Throws: `UserFacingError` (usage) if it is not UTF-8.
    static func title(_ argument: String) throws(UserFacingError) -> String {
        guard let title = String(validating: bytes(of: argument), as: UTF8.self) else {
            throw .usage("the title \(ErrorCatalog.quoted(bytes(of: argument))) is not UTF-8")
        }
        return title
    }
}

struct TapeLibraryOptions: ParsableArguments, ConnectionFlags {
    @Option(
        "Album library: folder or immich (default: immich if an address is set, otherwise folder).",
        value: "kind"
    )
    var library: String?

    @Option("Address of the Immich server.", value: "url", name: .customLong("library-url"))
    var libraryURL: String?

    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags {
        SettingsFlags([.albumsLibrary: library, .libraryURL: libraryURL], profile: named.profile)
    }

    static var hintKeys: [SettingKey] { [.albumsLibrary, .libraryURL] }

    func validate() throws {
        try require(libraryURL == nil || library != "folder", "--library-url cannot be combined with --library folder.")
    }
}

struct TapeConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: TapeLibraryOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { choice.flags + network.flags }

    static var hintKeys: [SettingKey] { TapeLibraryOptions.hintKeys }
}

/// Connection options of commands that may upload originals to a server.
struct TapeUploadOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var base: TapeConnectionOptions
    @OptionGroup var rate: RateOptions

    @Option("Number of parallel uploads to an Immich server, 1 to 16 (default: 4).", value: "n", name: .jobs)
    var jobs: String?

    var flags: SettingsFlags { base.flags + rate.flags + SettingsFlags([.jobs: jobs]) }

    static var hintKeys: [SettingKey] { TapeLibraryOptions.hintKeys }

    var key: KeyOptions { base.key }

    static let ruleOfAlbum = "cannot be combined with --no-album"

    /// - Throws: `ValidationError` if an option that only affects uploads was specified, although nothing is uploaded.
    func requireUploads(_ areMade: Bool, otherwise rule: String) throws {
        let given = [("--limit-rate", rate.limitRate), ("--jobs", jobs)].filter { $0.1 != nil }.map(\.0)
        try require(areMade || given.isEmpty, "\(given.joined(separator: " and ")) \(rule).")
    }
}
