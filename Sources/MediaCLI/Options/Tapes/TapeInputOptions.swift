internal import ArgumentParser
internal import MediaFiles

/// Which files become clips.
struct TapeInputOptions: ParsableArguments {
    @OptionGroup var fileLists: FileListOptions

    @Option(
        help: ArgumentHelp(
            """
            Take the files that an upload has sent: from the output of upload --json, or from its --report; - for \
            standard input.
            """,
            valueName: "file"
        ),
        completion: .file()
    )
    var fromUpload: String?

    @Option(
        help: ArgumentHelp(
            "Take the file of this upload from here: its number at the server, or its id, as u-h6zfchyzwaq7c3fo; may be repeated.",
            valueName: "id"
        )
    )
    var uploaded: [String] = []

    @Flag(help: "Take what was uploaded last from here.")
    var uploadedLast = false

    @Flag(help: "Take files that are not there, by their extension; they are looked for again later.")
    var allowMissing = false

    @Flag(help: "Make a still and the video of the same name beside it one live picture, where both are given.")
    var live = false

    /// The options that name inputs of their own, as they are written.
    var lists: [(flag: String, value: String)] {
        fileLists.lists + (fromUpload.map { [("--from-upload", $0)] } ?? [])
    }

    /// Refuses what cannot be read.
    ///
    /// - Parameters:
    ///   - files: The arguments.
    ///   - isStandardInputTaken: Whether a key comes from there.
    /// - Throws: `ValidationError`.
    func check(_ files: [String], isStandardInputTaken: Bool) throws {
        guard !files.isEmpty || !lists.isEmpty || !uploaded.isEmpty || uploadedLast else {
            throw ValidationError(
                "Name files to add, or where they are listed: --files-from, --from-upload or --uploaded."
            )
        }
        guard !files.contains(""), !lists.contains(where: { $0.value.isEmpty }) else {
            throw ValidationError("An empty path.")
        }
        let readers =
            lists.filter { $0.value == "-" }.map(\.flag) + (isStandardInputTaken ? ["--api-key-stdin"] : [])
        try StandardInputReaders.check(readers)
        for id in uploaded where !id.hasPrefix("u-") && Int64(id) == nil {
            throw ValidationError("\(ErrorCatalogue.quoted(id)) is no upload's number, and no id that begins with u-.")
        }
    }
}

/// What `add` and `insert` do with the album and the files.
struct TapeAddingOptions: ParsableArguments {
    @Flag(help: "Leave the album alone this time; the clips wait for the next add or for tapes reconcile.")
    var noAlbum = false

    @Flag(help: "End with 3 when clips were saved and their album was not brought up to date.")
    var strictAlbums = false

    @Flag(help: "Do not read the files for their checksums, by which tapes relink finds them again.")
    var noChecksum = false

    @Flag(help: "Only say what would be added.")
    var dryRun = false

    func validate() throws {
        guard !noAlbum || !strictAlbums else {
            throw ValidationError("--no-album and --strict-albums exclude each other.")
        }
    }
}
