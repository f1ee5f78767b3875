internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import PhotoSync

struct SyncForget: ServerCommand {
    static let schema = "mediactl.sync-forget/1"
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Accept that photos were deleted on the server.",
        discussion: """
            sync push no longer warns of these photos, and sync verify no longer reports their copies. Local files and the \
            server are not changed. To undo this, upload the file again with mediactl sync push --restore FILE.

            Examples:
              mediactl sync forget Pictures/IMG_0001.jpg
              mediactl sync forget Pictures/2019 --dry-run
              mediactl sync forget 4ad8a4cc-3164-4b56-b986-11cd9f6d52da
            """
    )

    @Argument("Photos, directories with photos, and IDs of photos.", value: .file("path-or-id"))
    var targets: [String]

    @Flag(name: .dryRun, help: "Show which deletions would be accepted, without accepting them.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!targets.contains(""), "The path is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let account = SyncAccount(
            client: try session.client(key: nil),
            deviceID: session.login?.deviceID,
            index: session.index,
            library: session.library
        )
        try console.requireOutput()
        let acceptance = DeletionAcceptance(account, hashes: session.settings.hashCache())
        let items = try await acceptance.run(targets.map { RawArguments.bytes(of: $0) }, isDryRun: dryRun)
        let statistics = ItemStatistics<DeletionAcceptance.Item.State>()
        for item in items {
            statistics.add(item.state, item.exitCode)
            console.result(item)
            if let userFacingError = item.userFacingError { console.error(userFacingError) }
        }
        let summary: JSONObject = [
            "server": .string(session.address), "dry_run": .bool(dryRun), "items": JSONValue(statistics.total),
        ]
        return console.ending(statistics.exitCode(isStopped: false)).summary(summary + statistics.json)
    }
}

extension DeletionAcceptance.Item: RunItem {
    fileprivate var userFacingError: UserFacingError? { error.map { ErrorCatalog.userFacingError(of: $0) } }
    fileprivate var exitCode: ExitCode { userFacingError?.exitCode ?? .success }

    var json: JSONObject {
        [
            "target": .path(target), "state": .string(state.rawValue),
            "photo_id": JSONValue(photoID), "file_name": JSONValue(fileName),
            "exit_code": .exitCode(exitCode), "error": .error(userFacingError),
        ]
    }

    func text(_ style: Style) -> [String] {
        let target = TerminalText.escaped(target)
        let photo = fileName.map { " (\(TerminalText.escaped($0)))" } ?? ""
        return switch state {
        case .forgotten: ["\(target)\(photo): deletion accepted"]
        case .planned: ["\(target)\(photo): the deletion would be accepted"]
        case .failed: []
        }
    }
}
