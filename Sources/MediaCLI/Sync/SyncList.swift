internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaSystem
internal import PhotoSync

struct SyncList: ServerCommand {
    static let schema = "mediactl.sync-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the photos in the local index, oldest upload first.",
        discussion: """
            The server is not contacted; update the index with mediactl sync.

            Examples:
              mediactl sync list
              mediactl sync list --device other --since 2026-05-01
              mediactl sync list --device legacy --json | jq -r '.photo_id // empty'
            """
    )

    @Option("Only photos from this device: this, other, legacy (no device), or an ID.", value: "which")
    var device: String?

    @Option(
        "Only photos uploaded since this day (local midnight) or time: 2026-05-01, 2026-05-01T18:30:00Z.",
        value: "time"
    )
    var since: String?

    @Flag(help: "Instead, list photos that are no longer on the server.")
    var gone = false

    @OptionGroup(title: "Connection options") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(device != "", "--device: the ID is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let device = try FlagValue.read(device, "--device", Self.device)
        let since = try since.map { text throws(UserFacingError) in try PointInTime.parse(text, flag: "--since") }
        let session = try await SyncSession.open(console, global, connection)
        let server = session.address
        let state = try session.completeState()
        let origin = try origin(device, session.login?.deviceID)
        let filter = PhotoFilter(origin: origin, uploadedSince: since, isGone: gone)
        try console.requireOutput()
        if let own = session.login?.deviceID, own != state.account {
            console.warning(
                "the index has the photos of another user or device; update it with: mediactl sync"
            )
        }
        let table = PhotoTable(console, device: session.login?.deviceID, isGone: gone)
        try await show(table, filter, session, on: console)
        if table.count == 0 {
            let isAny = !gone && device == nil && since == nil
            console.note(gone ? "no deleted photos" : isAny ? "the index has no photos" : "no photos match")
        }
        return console.finish([
            "server": .string(server), "items": JSONValue(table.count),
            "last_complete_at": .time(state.lastCompleteAt),
        ])
    }

    /// The server's IDs are UUIDs in lowercase (photosync contract section 0).
    private static func device(_ text: String) throws(InvalidValue) -> String {
        let words = ["this", "other", "legacy"]
        if words.contains(text) { return text }
        guard let id = UUID(uuidString: text) else {
            throw InvalidValue(
                rule: "is neither \(words.joined(separator: ", ")) nor the ID of a device",
                hint: Spelling.hint(for: text, among: words) ?? "the devices and their IDs: mediactl sync status --json"
            )
        }
        return id.uuidString.lowercased()
    }

    private func origin(_ device: String?, _ own: String?) throws(PhotoSyncError) -> PhotoFilter.Origin {
        switch device {
        case nil: return .any
        case "this":
            guard let own else { throw PhotoSyncError(.noDevice) }
            return .device(own)
        case "other": return .otherThan(own)
        case "legacy": return .legacy
        case let id?: return .device(id)
        }
    }

    /// Runs on a separate thread, since the index may be long. Stops when standard output is closed.
    private func show(
        _ table: PhotoTable,
        _ filter: PhotoFilter,
        _ session: SyncSession,
        on console: Console
    ) async throws {
        do {
            try await BlockingWork.run {
                try session.index.forEachBlock(of: session.address, where: filter) { photos in
                    table.show(photos)
                    if console.context.output.failure != nil { throw ClosedOutput() }
                }
            }
        } catch is ClosedOutput {}
    }

    private struct ClosedOutput: Error {}
}
