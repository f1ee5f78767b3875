internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// `mediactl sync status`. The type `SyncStatus` is the server's response.
struct SyncStatusCommand: ServerCommand {
    static let schema = "mediactl.sync-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the photo counts on the server and in the index, the last sync, and the state of the server.",
        discussion: """
            An unreachable server is reported, with its exit code; the counts in the index are still shown.

            Examples:
              mediactl sync status
              mediactl sync status --json | jq .server_counts
            """
    )

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        try console.requireOutput()
        let report = try await console.context.interruption.canceling { try await SyncReport.make(of: account) }
        let failure = report.failure.map { ErrorCatalog.userFacingError(of: $0) }
        console.text(
            TextRenderer.report(
                report,
                account,
                name: session.login?.deviceName,
                now: console.context.now(),
                style: console.outputStyle
            )
        )
        if report.advisesPull {
            console.note(
                "server and index differ; update the index with: mediactl sync --full"
            )
        }
        if let failure {
            console.error(failure)
        }
        return console.ending(failure?.exitCode ?? .success)
            .summary(JSONRenderer.report(report, account, name: session.login?.deviceName))
    }
}

extension JSONRenderer {
    static func report(_ report: SyncReport, _ account: SyncAccount, name: String?) -> JSONObject {
        [
            "server": .string(account.server), "device_id": JSONValue(account.deviceID),
            "device_name": JSONValue(name), "health": JSONValue(report.health?.status),
            "set_up": JSONValue(report.health?.isSetUp), "ownership": .string(report.ownership.rawValue),
            "server_version": JSONValue(report.version?.version), "server_commit": JSONValue(report.version?.commit),
            "needs_legacy_claim": JSONValue(report.status.map { $0.legacyPhotos > 0 }),
            "server_counts": serverCounts(report.status), "index": indexCounts(report.counts),
            "devices": .array(
                report.devices.map { entry in
                    .object([
                        "device_id": .string(entry.device.id), "device_name": .string(entry.device.name),
                        "device_platform": .string(entry.device.platform),
                        "this_device": .bool(entry.device.id == account.deviceID), "photos": .integer(entry.photos),
                    ])
                }
            ),
            "last_complete_at": .time(report.state?.lastCompleteAt),
            "last_full_at": .time(report.state?.lastFullAt),
            "unfinished": .bool(report.state?.hasUnfinishedRun ?? false),
            "error": .error(report.failure),
        ]
    }
}

extension TextRenderer {
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
            ("server", account.server), ("version", words(for: report.version)),
            ("health", words(for: report.health)), ("this device", device),
            (
                "last sync",
                time(report.state?.lastCompleteAt) + (report.state?.hasUnfinishedRun == true ? ", one unfinished" : "")
            ), ("last full sync", time(report.state?.lastFullAt)), ("upload ownership", words(for: report.ownership)),
        ]
        let lines = self.fields(fields, width: 18, style) + [""] + table(report).lines(fitting: nil, style: style)
        guard !report.devices.isEmpty else { return lines }
        return lines + [""] + devices(report, account).lines(fitting: nil, style: style)
    }

    private static func devices(_ report: SyncReport, _ account: SyncAccount) -> Table {
        Table(columns: [
            .init(title: "DEVICE"), .init(title: "PLATFORM"), .init(title: "PHOTOS", alignment: .right),
        ])
        .rows(for: report.devices) { entry in
            let mark = entry.device.id == account.deviceID ? " (this device)" : ""
            let name = entry.device.name.isEmpty ? entry.device.id : entry.device.name
            return [
                TerminalText.escaped(name) + mark, TerminalText.escaped(entry.device.platform), "\(entry.photos)",
            ]
        }
    }

    private static func words(for version: ServerVersion?) -> String {
        guard let version else { return "unknown" }
        return ErrorCatalog.clean(version.version + (version.commit.map { " (\($0))" } ?? ""))
    }

    private static func table(_ report: SyncReport) -> Table {
        let (status, counts) = (report.status, report.counts)
        let rows: [(name: String, onServer: Int64?, inIndex: Int64)] = [
            ("this device", status?.devicePhotos, counts.thisDevice),
            ("other devices", status?.otherDevicePhotos, counts.otherDevices),
            ("no device", status?.legacyPhotos, counts.legacy), ("all", status?.totalPhotos, counts.total),
            ("deleted", nil, counts.gone),
        ]
        return Table(columns: [
            .init(title: "PHOTOS"), .init(title: "SERVER", alignment: .right), .init(title: "INDEX", alignment: .right),
        ])
        .rows(for: rows) { row in [row.name, row.onServer.map { "\($0)" } ?? "-", "\(row.inIndex)"] }
    }

    private static func words(for health: ServerHealth?) -> String {
        guard let health else { return "unknown" }
        return health.isSetUp == false ? "not set up" : health.status
    }

    private static func words(for ownership: SyncReport.Ownership) -> String {
        switch ownership {
        case .owned: "correct"
        case .ownerless: "DEFECT: not recorded, and the server deletes uploads; keep all local originals"
        case .unknown: "unknown until the first push"
        }
    }
}
