internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// What the commands of `store` print on standard output.
extension TextRenderer {
    static func check(_ check: StoreCheck, responses: Int, now: Date, style: Style) -> [String] {
        let uploads =
            check.unfinishedUploads == 0
            ? "\(check.uploads)" : "\(check.uploads) (\(check.unfinishedUploads) unfinished)"
        let head = fields(
            [
                ("store", check.path), ("size", Formats.bytes(check.byteCount)),
                ("tokens", "\(check.tokens) of \(Formats.count(check.hosts, "host"))"), ("uploads", uploads),
                ("responses", responses == 0 ? "none" : "\(responses) kept, see mediactl uploads responses"),
                ("backups", check.backups.isEmpty ? "none" : "\(check.backups.count)"),
            ],
            style
        )
        let backups = check.backups.map {
            "  \(TerminalText.escaped($0.path))  (\(Formats.bytes($0.byteCount)), \(Formats.age(of: $0.createdAt, now: now)))"
        }
        return head + backups + ["no errors found"]
    }

    static func repair(_ report: StoreRepair.Report?, isDryRun: Bool) -> [String] {
        guard let report else { return ["the token store is not damaged; nothing to repair"] }
        let lost = report.lost.map { "  \($0.fileID) on \(TerminalText.escaped($0.host))" }
        let more = report.lostCount - report.lost.count
        let files = report.kept.filter { path in !report.unread.contains { $0.keptPath == path } }
        return ["damage: \(ErrorCatalogue.clean(report.damage))", salvaged(report, isDryRun: isDryRun)]
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
            case .special: "not a file"
            }
        return ["no delete token was read from \(TerminalText.escaped(unread.path)), \(kind)"]
            + (unread.keptPath.map { ["it was moved to \(TerminalText.escaped($0))"] } ?? [])
    }

    static func restore(_ report: StoreRestore.Report, isDryRun: Bool) -> String {
        let rows = "\(Formats.count(report.tokens, "delete token")) and \(Formats.count(report.uploads, "upload"))"
        var text = isDryRun ? "\(rows) would be restored" : "restored \(rows)"
        let known = report.tokensInBackup - report.tokens - report.removedSince
        if known > 0 { text += ", \(known) already stored" }
        if report.removedSince > 0 { text += ", \(report.removedSince) deleted since" }
        return text
    }
}
