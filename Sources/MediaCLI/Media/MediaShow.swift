internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaTransport

struct MediaShow: UploadServerCommand {
    static let schema = "mediactl.media-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a file on a server and all its events.",
        discussion: """
            Example:
              mediactl media show 18
            """
    )

    @Argument("ID of the file on the server.", value: "id")
    var id: Int64

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(id > 0, "An ID must be 1 or more.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await MediaSession.open(console, for: self)
        try console.requireOutput()
        guard let asset = try await session.client.asset(id) else { throw UserFacingError.noSuchMedia(id) }
        let file = try await session.client.media(including: asset)
        console.record(.item, JSONRenderer.media(file, on: session.server))
        console.text(TextRenderer.media(file, on: session.server, style: console.outputStyle))
        return console.finish(["items": 1])
    }
}

extension TextRenderer {
    static func media(_ file: ServerMedia, on server: ServerURL, style: Style) -> [String] {
        let events = file.events.map { event in
            let names = [event.date, event.orgName, event.eventType].compactMap { $0 }
            return ("event", names.joined(separator: "  ") + (event.label.map { "  \"\($0)\"" } ?? ""))
        }
        let size = file.sizeBytes.map { "\(Formats.bytes($0)) (\(Formats.count($0, "byte")))" }
        let fields: [(String, String?)] =
            [("id", "\(file.fileID)"), ("server", server.description)]
            + (events.isEmpty ? [("event", "none")] : events)
            + [
                ("file name", file.fileName), ("file type", file.fileType), ("mime type", file.mimeType),
                ("size", size), ("sha-256", file.checksumSHA256),
                ("length", file.durationSeconds.map { Formats.clock(.seconds($0)) }),
                ("source name", file.sourceName), ("uploaded", file.createdAt), ("recorded", file.mediaCreatedAt),
                ("address", file.path.map { server.description + $0 }),
            ]
        return self.fields(fields.compactMap { name, value in value.map { (name, $0) } }, style)
    }
}
