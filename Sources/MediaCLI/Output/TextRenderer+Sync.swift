internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import PhotoSync

/// What `sync` says on standard output. Failures are said on standard error.
extension TextRenderer {
    static func pull(_ result: PullResult, isDryRun: Bool, style: Style) -> [String] {
        let (changes, counts) = (result.changes, result.counts)
        let scope = result.isFull ? "" : " since the last time"
        guard !isDryRun else { return ["\(Formats.count(result.photos, "photo"))\(scope) would be listed"] }
        return [
            "\(style.green("synchronised")): \(changes.added) new, \(changes.changed) changed, \(changes.gone) gone "
                + "(\(Formats.count(result.photos, "photo"))\(scope) listed)",
            "  in the index: \(counts.total); of this device \(counts.thisDevice), of others \(counts.otherDevices), "
                + "of none \(counts.legacy)",
        ]
    }

    static func push(_ item: PushItem, style: Style) -> [String] {
        let name = TerminalText.escaped(item.path)
        let size = item.sizeBytes.map { " (\(Formats.bytes($0)))" } ?? ""
        return switch item.state {
        case .uploaded: ["\(style.green("uploaded")) \(name)\(size)"]
        case .planned: ["\(name): would be uploaded\(size)"]
        case .present: ["\(name): there already"]
        case .skipped: ["\(name): left out"]
        case .cancelled: ["\(name): not done"]
        case .unconfirmed, .foreign, .failed: []
        }
    }

    static func download(_ item: DownloadItem, style: Style) -> [String] {
        let name = item.path.map { TerminalText.escaped($0) } ?? TerminalText.escaped(item.originalFilename ?? item.id)
        let size = item.sizeBytes.map { "\(Formats.bytes($0)), " } ?? ""
        return switch item.state {
        case .verified: ["\(style.green("downloaded")) \(name) (\(size)verified)"]
        case .rewritten: ["\(style.green("downloaded")) \(name) (\(size)rewritten by the server)"]
        case .planned: ["\(name): would be fetched"]
        case .present: ["\(name): there already"]
        case .cancelled: ["\(name): not done"]
        case .failed: []
        }
    }

    static func difference(_ difference: SyncDifference, style: Style) -> [String] {
        let kind = difference.kind.rawValue.replacing("_", with: " ")
        let what = difference.path.map { TerminalText.escaped($0) } ?? TerminalText.escaped(difference.photoID)
        let values = [("expected", difference.expected), ("found", difference.found)]
            .compactMap { name, value in value.map { "\(name) \(TerminalText.escaped($0))" } }
        let padded = kind.padding(toLength: 17, withPad: " ", startingAt: 0)
        return ["\(style.yellow(padded))  \(what)" + (values.isEmpty ? "" : "  (\(values.joined(separator: ", ")))")]
    }

    /// The facts and the table of `sync status`.
    static func report(
        _ report: SyncReport,
        _ account: SyncAccount,
        name: String?,
        now: Date,
        style: Style
    ) -> [String] {
        func time(_ date: Date?) -> String {
            date.map { "\(Formats.timestamp($0)) (\(Formats.age(of: $0, now: now)))" } ?? "never"
        }
        let device = account.deviceID.map { id in name.map { "\($0) (\(id))" } ?? id } ?? "not registered"
        let fields: [(String, String)] = [
            ("server", account.server), ("health", words(for: report.health)), ("this device", device),
            (
                "last sync",
                time(report.state?.lastCompleteAt) + (report.state?.hasUnfinishedRun == true ? ", one unfinished" : "")
            ), ("last full sync", time(report.state?.lastFullAt)), ("uploads", words(for: report.ownership)),
        ]
        let lines = fields.map { name, value in
            style.bold(name.padding(toLength: 16, withPad: " ", startingAt: 0)) + TerminalText.escaped(value)
        }
        return lines + [""] + table(report).lines(fitting: nil, style: style)
    }

    private static func table(_ report: SyncReport) -> Table {
        var table = Table(columns: [
            .init(title: "PHOTOS"), .init(title: "SERVER", alignment: .right), .init(title: "INDEX", alignment: .right),
        ])
        let (status, counts) = (report.status, report.counts)
        func row(_ name: String, _ onServer: Int64?, _ inIndex: Int64) -> [String] {
            [name, onServer.map { "\($0)" } ?? "-", "\(inIndex)"]
        }
        table.rows = [
            row("this device", status?.devicePhotos, counts.thisDevice),
            row("other devices", status?.otherDevicePhotos, counts.otherDevices),
            row("no device", status?.legacyPhotos, counts.legacy), row("all", status?.totalPhotos, counts.total),
            row("gone", nil, counts.gone),
        ]
        return table
    }

    private static func words(for health: ServerHealth?) -> String {
        guard let health else { return "unknown" }
        return health.isSetUp == false ? "not set up" : health.status
    }

    private static func words(for ownership: SyncReport.Ownership) -> String {
        switch ownership {
        case .owned: "belong to whoever sends them"
        case .ownerless: "DEFECT: belong to nobody, and the server deletes them; keep all originals"
        case .unknown: "not known; the first push tells"
        }
    }
}
