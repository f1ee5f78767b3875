internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore

struct UploadsResponses: ContextCommand {
    static let schema = "mediactl.uploads-responses/1"
    static let configuration = CommandConfiguration(
        commandName: "responses",
        abstract: "List server responses that may contain a delete token that is not stored. Sends nothing.",
        discussion: """
            A response whose token cannot be stored is kept on this machine until mediactl uploads adopt stores the \
            token, or until it is discarded.

            Examples:
              mediactl uploads responses
              mediactl uploads responses --discard r-5f0c21ab
            """,
        aliases: ["replies"]
    )

    @Option("Discard this response (ID or unique prefix). A token in it is lost.", value: "id")
    var discard: String?

    @Flag(name: .shortAndLong, help: "Discard without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be discarded, without discarding it.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(discard != nil || !(yes || dryRun), "--yes and --dry-run require --discard.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        let responses = KeptResponses(store: session.store, directory: session.directory)
        if let discard {
            let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
            return try await remove(discard, responses, confirmation, console)
        }
        let kept = try responses.list()
        for response in kept { console.record(.item, JSONRenderer.kept(response, result: "kept")) }
        console.table(TextRenderer.kept(kept, now: console.context.now()))
        if kept.isEmpty { console.note("no kept responses") }
        return console.finish(["items": JSONValue(kept.count), "discarded": 0])
    }

    private func remove(
        _ id: String,
        _ responses: KeptResponses,
        _ confirmation: Confirmation,
        _ console: Console
    ) async throws -> ExitCode {
        let response = try responses.named(id)
        guard !dryRun else {
            console.record(.item, JSONRenderer.kept(response, result: "planned"))
            console.text(["\(response.id) would be discarded"])
            return console.finish(["items": 1, "discarded": 0])
        }
        let what = response.hasToken ? "Its delete token would be lost." : "A delete token in it would be lost."
        let question = "\(TextRenderer.brief(response)) \(what)"
        let isAgreed = try await confirmation.prompt([question], "Discard it?", on: console)
        if isAgreed { _ = try responses.discard(response.id) }
        console.record(.item, JSONRenderer.kept(response, result: isAgreed ? "discarded" : "declined"))
        console.text([isAgreed ? "discarded \(response.id)" : "nothing was discarded"])
        return console.ending(isAgreed ? .success : .failure).summary([
            "items": 1, "discarded": JSONValue(isAgreed ? 1 : 0),
        ])
    }
}

extension KeptResponses {
    /// The response with this ID or ID prefix.
    ///
    /// - Throws: `UserFacingError` if none or several match; `StoreError`.
    func named(_ id: String) throws -> KeptResponse {
        guard let response = try list().named(id, "response", \.id) else {
            throw UploadsAdopt.userFacingError(of: .unknownResponse, named: id)
        }
        return response
    }
}

extension JSONRenderer {
    /// `result` is the command's result for the response.
    static func kept(_ response: KeptResponse, result: String) -> JSONObject {
        [
            "response_id": .string(response.id), "upload_id": JSONValue(response.uploadID),
            "host": JSONValue(response.host), "http_status": JSONValue(response.status),
            "received_at": .string(Formats.timestamp(response.receivedAt)), "size_bytes": JSONValue(response.sizeBytes),
            "has_token": .bool(response.hasToken), "file_id": JSONValue(response.fileID),
            "path": .string(response.path), "result": .string(result),
        ]
    }
}

extension TextRenderer {
    static func kept(_ responses: [KeptResponse], now: Date) -> Table {
        Table(columns: [
            .init(title: "RESPONSE"), .init(title: "TOKEN"), .init(title: "ID", alignment: .right),
            .init(title: "STATUS", alignment: .right, dropOrder: 2),
            .init(title: "SIZE", alignment: .right, dropOrder: 1), .init(title: "RECEIVED", dropOrder: 3),
            .init(title: "UPLOAD", dropOrder: 0), .init(title: "SERVER", isFlexible: true, minimumWidth: 12),
        ])
        .rows(for: responses) { response in
            [
                response.id, response.hasToken ? "found" : "not found", response.fileID.map { "\($0)" } ?? "-",
                response.status.map { "\($0)" } ?? "-", Formats.bytes(Int64(response.sizeBytes)),
                Formats.age(of: response.receivedAt, now: now),
                response.uploadID.map { TerminalText.escaped($0) } ?? "-",
                response.host.map { TerminalText.escaped($0) } ?? "-",
            ]
        }
    }

    /// One line for a prompt.
    static func brief(_ response: KeptResponse) -> String {
        let status = response.status.map { ", status \($0)" } ?? ""
        let host = response.host.map { " from \(TerminalText.escaped($0))" } ?? ""
        return "\(response.id): a response\(host)\(status), \(Formats.bytes(Int64(response.sizeBytes)))."
    }
}
