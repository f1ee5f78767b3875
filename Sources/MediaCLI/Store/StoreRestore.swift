internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Outcomes

struct StoreRestoreCommand: ContextCommand {
    static let schema = "mediactl.store-restore/1"
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Add the tokens and uploads from a backup to the token store.",
        discussion: """
            Nothing in the store is removed or replaced, and tokens that were deleted or removed since the backup are \
            not restored, unless mediactl uploads clear has been run since. If the store is damaged, run mediactl \
            store repair first. mediactl store check lists the backups in the data directory.

            Examples:
              mediactl store restore /media/usb/tokens.sqlite --dry-run
              mediactl store restore /media/usb/tokens.sqlite
            """
    )

    @Argument("A backup, or a damaged store kept by mediactl store repair.", value: .file)
    var file: String

    @Flag(name: .dryRun, help: "Show what would be restored, without changing the store.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file != "", "The path is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        // The file is checked before a missing data directory is created.
        try reading { () throws(StoreError) in try StoreRestore.check(file) }
        let isNew = try !StoreSession.exists(settings)
        let store =
            dryRun && isNew
            ? try TokenStore(temporaryFor: DataDirectory.unchanged(settings.locations.dataDirectory))
            : try await StoreSession.open(settings).store
        let report = try reading { () throws(StoreError) in
            try StoreRestore.run(from: file, to: store, isDryRun: dryRun)
        }
        if isNew, !dryRun {
            console.note("created the token store in \(ErrorCatalog.quoted(settings.locations.dataDirectory))")
        }
        console.text([TextRenderer.restore(report, isDryRun: dryRun)])
        return console.finish(JSONRenderer.restore(report, file: file, isDryRun: dryRun))
    }

    private func reading<Value>(_ body: () throws(StoreError) -> Value) throws -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.path.hasPrefix(file) else { throw error }
            let isMissing = error.kind == .missing
            throw UserFacingError(
                isMissing ? .fileNotFound : .fileUnreadable,
                "cannot restore \(ErrorCatalog.quoted(file)): \(ErrorCatalog.clean(error.detail))",
                hint: isMissing ? ErrorCatalog.missingHint : nil
            )
        }
    }
}

extension JSONRenderer {
    static func restore(_ report: StoreRestore.Report, file: String, isDryRun: Bool) -> JSONObject {
        [
            "path": .string(file), "dry_run": .bool(isDryRun), "tokens": JSONValue(report.tokens),
            "uploads": JSONValue(report.uploads), "removed_since": JSONValue(report.removedSince),
            "items": JSONValue(report.tokensInBackup),
        ]
    }
}

extension TextRenderer {
    static func restore(_ report: StoreRestore.Report, isDryRun: Bool) -> String {
        let rows = "\(Formats.count(report.tokens, "delete token")) and \(Formats.count(report.uploads, "upload"))"
        var text = isDryRun ? "\(rows) would be restored" : "restored \(rows)"
        let known = report.tokensInBackup - report.tokens - report.removedSince
        if known > 0 { text += ", \(known) already stored" }
        if report.removedSince > 0 { text += ", \(report.removedSince) deleted since" }
        return text
    }
}
