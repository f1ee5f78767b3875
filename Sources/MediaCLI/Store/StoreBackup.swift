internal import ArgumentParser
internal import Glibc
internal import MediaCore
internal import MediaStore
internal import MediaSystem
internal import Outcomes

struct StoreBackup: ContextCommand {
    static let schema = "mediactl.store-backup/1"
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the token store to a file. Other commands may run at the same time.",
        discussion: """
            Without FILE, the backup goes to the data directory, which keeps the last three backups, and any others \
            with tokens that the store does not have. Deleting a token removes it from these backups as well, but not \
            from FILE. Anyone who has the file can delete the uploads; keep it secret.

            Examples:
              mediactl store backup
              mediactl store backup /media/usb/tokens.sqlite
            """
    )

    @Argument("File to create; an existing file is never overwritten.", value: .file)
    var file: String?

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file != "", "The path is empty.")
        try requireFile(file, as: "a backup")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        // If there is no store, for example in a mistyped directory, nothing is created.
        guard try StoreSession.exists(settings) else { throw Self.noStore(settings) }
        let session = try await StoreSession.open(settings, for: file == nil ? .writing : .reading)
        let count = try session.store.tokenCount(host: nil)
        let path: String
        if let file {
            try copy(session.store, to: file)
            path = file
        } else {
            let backups = StoreBackups(in: session.directory)
            // If the store is empty although a backup has entries, it was probably lost: the backup must be restored
            // first.
            if try session.store.isEmpty(), let backup = backups.newestWithRows().backup {
                throw Self.nothing("the token store is empty", backup)
            }
            path = try backups.create(from: session.store).path
            if let missing = try backups.withMissingTokens(in: session.store) { console.warn(ofMissing: missing) }
        }
        console.text(["backed up \(Formats.count(count, "delete token")) to \(TerminalText.escaped(path))"])
        return console.finish(["path": .string(path), "tokens": JSONValue(count)])
    }

    private static func noStore(_ settings: SettingsSession) -> UserFacingError {
        let path = settings.locations.dataDirectory
        let backup = (try? DataDirectory.unchanged(path)).flatMap { StoreBackups(in: $0).newestWithRows().backup }
        return nothing("there is no token store in \(ErrorCatalog.quoted(path))", backup)
    }

    /// The error for a store without tokens; `backup` contains tokens from an earlier store.
    private static func nothing(_ reason: String, _ backup: StoreBackups.Backup?) -> UserFacingError {
        UserFacingError(
            .storeUnusable,
            "\(reason); nothing was backed up",
            hint: backup.map { "restore the newest backup: mediactl store restore \(ShellWord.quoted($0.path))" }
                ?? "show the data directory with: mediactl config show"
        )
    }

    private func copy(_ store: TokenStore, to file: String) throws {
        var status = stat()
        guard lstat(file, &status) != 0 else { throw ExportFile.exists(RawArguments.bytes(of: file)) }
        do throws(StoreError) {
            try StoreBackups.copy(store, to: file)
        } catch {
            guard error.path.hasPrefix(file) else { throw error }
            guard error.kind != .full else { throw ExportFile.diskFull(RawArguments.bytes(of: file)) }
            throw UserFacingError(
                .outputUnusable,
                "cannot create \(ErrorCatalog.quoted(file)): \(ErrorCatalog.clean(error.detail))"
            )
        }
    }
}
