internal import ArgumentParser

/// Which library holds the albums of tapes.
struct TapeLibraryOptions: ParsableArguments, ConnectionFlags {
    @Option(
        help: ArgumentHelp(
            "What holds the albums: folder (by default), or immich where an address is set.",
            valueName: "kind"
        )
    )
    var library: String?

    @Option(
        name: .customLong("library-url"),
        help: ArgumentHelp("Address of the Immich server that holds the albums.", valueName: "url")
    )
    var libraryURL: String?

    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags {
        var flags = SettingsFlags(profile: named.profile)
        flags.albumsLibrary = library
        flags.libraryURL = libraryURL
        return flags
    }
}

/// Which library holds the albums, and how it is talked to.
struct TapeConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: TapeLibraryOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { network.adding(to: choice.flags) }
}
