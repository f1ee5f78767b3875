internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore

struct StoreRepairCommand: ContextCommand {
    static let schema = "mediactl.store-repair/1"
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Salvage the rows from a damaged token store into a new one.",
        discussion: """
            The damaged files are kept next to the new store, as tokens.sqlite.damaged-TIME; delete them when no token \
            is missing. A symbolic link or directory with the name of the store is also kept, but not read. Tokens \
            that could not be salvaged are listed if they are known; restore them from a backup with mediactl store \
            restore. Exits with 3 if tokens are missing or nothing could be salvaged.

            Examples:
              mediactl store repair --dry-run
              mediactl store repair
            """
    )

    @Flag(name: .dryRun, help: "Show what would be salvaged, without changing the store.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let path = settings.locations.dataDirectory
        try DataDirectory.refuseFile(inPlaceOf: path)
        // A missing directory, for example a mistyped one, is not created.
        let isThere = FileManager.default.fileExists(atPath: path)
        let directory = try isThere ? DataDirectory.openForRepair(path) : DataDirectory.unchanged(path)
        let report = try isThere ? StoreRepair(in: directory).run(isDryRun: dryRun) : nil
        let check = try report == nil ? StoreCheck(reading: directory) : nil
        console.records(.item, (report?.lost ?? []).map { JSONRenderer.lost($0) })
        console.text(check?.exists == false ? ["no store yet"] : TextRenderer.repair(report, isDryRun: dryRun))
        let isIncomplete = report.map { $0.isIncomplete || $0.tokens == 0 }
        if isIncomplete ?? check?.isEmpty ?? false { console.hintAtBackup(in: directory) }
        return console.ending(report?.isIncomplete == true ? .partly : .success)
            .summary(JSONRenderer.repair(report, exists: check?.exists ?? true, isDryRun: dryRun))
    }
}

extension JSONRenderer {
    static func repair(_ report: StoreRepair.Report?, exists: Bool, isDryRun: Bool) -> JSONObject {
        [
            "exists": .bool(exists), "dry_run": .bool(isDryRun), "damage": JSONValue(report?.damage),
            "tokens": JSONValue(report?.tokens),
            "uploads": JSONValue(report?.uploads), "lost": JSONValue(report?.lostCount ?? 0),
            "unread": .array((report?.unread ?? []).map { .string($0.path) }),
            "kept": .array((report?.kept ?? []).map { .string($0) }),
        ]
    }

    static func lost(_ token: StoreRepair.LostToken) -> JSONObject {
        [
            "host": .string(token.host), "file_id": .integer(token.fileID),
            "checksum_sha256": .nonEmpty(token.checksumSHA256),
        ]
    }
}

extension TextRenderer {
    static func repair(_ report: StoreRepair.Report?, isDryRun: Bool) -> [String] {
        guard let report else { return ["the token store is not damaged; nothing to repair"] }
        let lost = report.lost.map { "  \($0.fileID) on \(TerminalText.escaped($0.host))" }
        let more = report.lostCount - report.lost.count
        let files = report.kept.filter { path in !report.unread.contains { $0.keptPath == path } }
        return ["damage: \(ErrorCatalog.clean(report.damage))", salvaged(report, isDryRun: isDryRun)]
            + report.unread.flatMap(unread)
            + files.map { "the damaged file was kept as \(TerminalText.escaped($0))" }
            + (report.lostCount > 0
                ? ["\(Formats.count(report.lostCount, "delete token")) could not be salvaged:"] : [])
            + lost + (more > 0 ? ["  and \(more) more"] : [])
    }

    private static func salvaged(_ report: StoreRepair.Report, isDryRun: Bool) -> String {
        guard !report.isEmpty else { return isDryRun ? "nothing can be salvaged" : "nothing was salvaged" }
        let rows = "\(Formats.count(report.tokens, "delete token")) and \(Formats.count(report.uploads, "upload"))"
        return isDryRun ? "\(rows) would be salvaged" : "salvaged \(rows)"
    }

    private static func unread(_ unread: StoreRepair.Unread) -> [String] {
        let kind =
            switch unread.kind {
            case .symbolicLink(let target?): "a symbolic link to \(TerminalText.escaped(target))"
            case .symbolicLink(nil): "a broken symbolic link"
            case .directory: "a directory"
            case .special: "a special file"
            }
        return ["no delete token was read from \(TerminalText.escaped(unread.path)), \(kind)"]
            + (unread.keptPath.map { ["it was moved to \(TerminalText.escaped($0))"] } ?? [])
    }
}
