internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import PhotoSync

/// What `sync` says on standard output. Failures are said on standard error.
extension TextRenderer {
    static func pull(_ result: PullResult, isDryRun: Bool, style: Style) -> [String] {
        guard !isDryRun else { return ["\(Formats.count(result.photos, "photo")) would be listed; nothing is stored"] }
        let (changes, counts) = (result.changes, result.counts)
        let news = facts([(changes.added, "new"), (changes.changed, "changed"), (changes.gone, "gone")])
        return [
            "\(style.green("synchronised")): \(news.isEmpty ? "nothing new" : news)", "  " + shares(of: counts),
        ]
    }

    /// `7 photos: 3 of this device, 4 of no device`.
    private static func shares(of counts: PhotoCounts) -> String {
        let photos = Formats.count(counts.total, "photo")
        let shares = facts([
            (counts.thisDevice, "of this device"), (counts.otherDevices, "of other devices"),
            (counts.legacy, "of no device"),
        ])
        return shares.isEmpty ? photos : "\(photos): \(shares)"
    }

    /// `3 new, 1 gone`: what there is none of goes unsaid.
    private static func facts(_ counts: [(number: Int64, words: String)]) -> String {
        counts.filter { $0.number != 0 }.map { "\($0.number) \($0.words)" }.joined(separator: ", ")
    }

    static func push(_ item: PushItem, style: Style) -> [String] {
        let name = TerminalText.escaped(item.path)
        let size = item.sizeBytes.map { " (\(Formats.bytes($0)))" } ?? ""
        return switch item.state {
        case .uploaded: ["\(style.green("uploaded")) \(name)\(size)"]
        case .planned: ["\(name): would be uploaded\(size)"]
        case .present: ["\(name): there already"]
        case .skipped: ["\(name): left out\(item.error?.code == .unknownExtension ? ", no photo" : "")"]
        case .cancelled: ["\(name): not done"]
        case .unconfirmed, .foreign, .failed: []
        }
    }

    // `base` is what paths are told without, `/` at its end.
    static func download(_ item: DownloadItem, below base: [UInt8] = [], style: Style) -> [String] {
        let name =
            item.path.map { TerminalText.escaped($0.starts(with: base) ? Array($0.dropFirst(base.count)) : $0) }
            ?? TerminalText.escaped(item.originalFilename ?? item.id)
        let size = item.sizeBytes.map { "\(Formats.bytes($0)), " } ?? ""
        return switch item.state {
        case .verified: ["\(style.green("downloaded")) \(name) (\(size)verified)"]
        case .rewritten: ["\(style.green("downloaded")) \(name) (\(size)rewritten by the server)"]
        case .planned: ["\(name): would be downloaded"]
        case .present: ["\(name): there already"]
        case .cancelled: ["\(name): not done"]
        case .failed: []
        }
    }

    static func difference(_ difference: SyncDifference, style: Style) -> [String] {
        let kind = difference.kind.rawValue.replacing("_", with: " ")
        let what = difference.path.map { TerminalText.escaped($0) } ?? TerminalText.escaped(difference.photoID)
        let values = values(of: difference)
        let padded = kind.padding(toLength: 17, withPad: " ", startingAt: 0)
        return ["\(style.yellow(padded))  \(what)" + (values.isEmpty ? "" : "  (\(values.joined(separator: ", ")))")]
    }

    /// What people can read of it: names and reasons, and no digests, which JSON has.
    private static func values(of difference: SyncDifference) -> [String] {
        switch difference.kind {
        case .notIndexed, .notOnServer:
            [difference.found ?? difference.expected].compactMap { $0.map { TerminalText.escaped($0) } }
        default:
            [("expected", difference.expected), ("found", difference.found)]
                .compactMap { name, value in value.map { (name, $0) } }
                .filter { $0.1.wholeMatch(of: /[0-9a-f]{64}/) == nil }
                .map { "\($0.0) \(TerminalText.escaped($0.1))" }
        }
    }

    /// The facts and the table of `sync status`.
    static func report(
        _ report: SyncReport,
        _ account: SyncAccount,
        name: String?,
        now: Date,
        style: Style
    ) -> [String] {
        func time(_ date: Date?) -> String { date.map { self.time($0, now: now) } ?? "never" }
        let device = account.deviceID.map { id in name.map { "\($0) (\(id))" } ?? id } ?? "not registered"
        let fields: [(String, String)] = [
            ("server", account.server), ("health", words(for: report.health)), ("this device", device),
            (
                "last sync",
                time(report.state?.lastCompleteAt) + (report.state?.hasUnfinishedRun == true ? ", one unfinished" : "")
            ), ("last full sync", time(report.state?.lastFullAt)), ("uploads", words(for: report.ownership)),
        ]
        return self.fields(fields, width: 16, style) + [""] + table(report).lines(fitting: nil, style: style)
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
