internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore

struct UploadsShow: ServerFilterCommand {
    static let schema = "mediactl.uploads-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all stored details of an upload. Sends nothing.",
        discussion: """
            Example:
              mediactl uploads show 18
            """
    )

    @Argument("ID of the file on the server.", value: "id")
    var id: Int64

    @Flag(help: "Show the delete token. Anyone who has it can delete the file.")
    var showToken = false

    @OptionGroup(title: "Server") var connection: ServerFilterOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let host = try connection.scope(settings)
        let session = try await StoreSession.open(settings, for: .reading)
        let entries = try session.keptUploads(host: host, fileID: id)
        guard !entries.isEmpty else {
            let error = GigHiveError.withoutToken(id, host: host, in: session.store)
            var userFacingError = ErrorCatalog.userFacingError(of: error)
            // The hint of this error applies to deletions.
            if error.code == .noDeleteToken, error.otherHosts.isEmpty {
                userFacingError.hint = "show the file on the server with: mediactl media show \(id)"
            }
            throw userFacingError
        }
        for (index, entry) in entries.enumerated() {
            console.record(.item, JSONRenderer.kept(entry, isTokenShown: showToken))
            console.text(
                (index == 0 ? [] : [""])
                    + TextRenderer.kept(
                        entry,
                        now: console.context.now(),
                        isTokenShown: showToken,
                        style: console.outputStyle
                    )
            )
        }
        return console.finish(["items": JSONValue(entries.count)])
    }
}

extension TextRenderer {
    /// All fields of one upload.
    static func kept(_ upload: KeptUpload, now: Date, isTokenShown: Bool, style: Style) -> [String] {
        let token = upload.token.map { isTokenShown ? $0.secret : "stored (--show-token shows it)" } ?? "none"
        let sent = [upload.transport?.rawValue, upload.isGuest ? "with an event link" : nil].compactMap { $0 }
        let fields: [(String, String)] = [
            ("id", "\(upload.fileID)"), ("server", upload.server), ("host", upload.host),
            ("event date", upload.eventDate), ("org name", upload.orgName), ("event type", upload.eventType),
            ("label", upload.label ?? "-"), ("file name", upload.fileName), ("file type", upload.fileType ?? "-"),
            ("size", "\(Formats.bytes(upload.sizeBytes)) (\(Formats.count(upload.sizeBytes, "byte")))"),
            ("sha-256", upload.checksumSHA256 ?? "-"),
            ("uploaded", time(upload.createdAt, now: now)),
            ("sent by", sent.isEmpty ? "-" : sent.joined(separator: ", ")),
        ]
        // A guest has no login to use a delete token with; the state shows which operations are possible.
        let state = upload.isGuest ? [("state", guestAdvice(for: upload, now: now))] : []
        let deletion = upload.isGuest && !isTokenShown ? [] : [("delete token", token)]
        let more = state + deletion + storedFields(of: upload)
        let superseded = upload.isSuperseded ? ["  replaced by a newer upload of the same file"] : []
        return self.fields(fields + more, style) + superseded
    }

    /// Facts known only from the server's response.
    private static func storedFields(of upload: KeptUpload) -> [(String, String)] {
        let stored = upload.stored
        let own: [(String, String?)] = [
            ("event id", stored?.eventID.map { "\($0)" }), ("position", stored?.position.map { "\($0)" }),
            ("mime type", stored?.mimeType), ("duration", stored?.durationSeconds.map { Formats.clock(.seconds($0)) }),
            ("participants", stored?.participants), ("keywords", stored?.keywords),
        ]
        let linked = upload.otherEvents.map { event in
            ("linked to", "\(event.eventDate ?? "-"), \(event.orgName ?? "-")" + (event.label.map { ", \($0)" } ?? ""))
        }
        return own.compactMap { name, value in value.map { (name, $0) } } + linked
    }

    /// The state of a guest upload, and the operation it allows.
    private static func guestAdvice(for upload: KeptUpload, now: Date) -> String {
        let state = guestState(of: upload, now: now)
        return switch upload.guestState {
        case .approved?: "\(state); to hide it: mediactl uploads delete \(upload.fileID)"
        case .expired?:
            "\(state); if it was approved, mediactl uploads delete \(upload.fileID) hides it, otherwise the server refuses"
        case .pending?: "\(state); it can be hidden once the organizer has approved it"
        case .hidden?: "\(state); the server keeps the file"
        case .rejected?: state
        case nil: "\(state); to check it: mediactl uploads status"
        }
    }
}
