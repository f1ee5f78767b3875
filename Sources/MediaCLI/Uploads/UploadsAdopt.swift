internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct UploadsAdopt: ServerCommand {
    static let schema = "mediactl.uploads-adopt/1"
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Store the delete token from a kept response, or a token typed by hand. Sends nothing.",
        discussion: """
            Without a response, the token is read from the terminal without echo, or from standard input with \
            --token-stdin; --file-id and --server are then required. The token is stored as given: only a deletion \
            shows whether the server accepts it.

            Examples:
              mediactl uploads adopt r-5f0c21ab
              mediactl uploads adopt response.txt --server https://gighive.example
              mediactl uploads adopt --file-id 18 --server https://gighive.example
            """
    )

    @Argument(
        "ID of a response listed by mediactl uploads responses, or a file that contains a response.",
        value: .file("response")
    )
    var response: String?

    @Option("ID of the file on the server (default: from the response).", value: "id")
    var fileID: Int64?

    @Flag(help: "Read the token from standard input.")
    var tokenStdin = false

    @Flag(name: .dryRun, help: "Show what would be stored, without storing it.")
    var dryRun = false

    @OptionGroup(title: "Server") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(response != "", "The path is empty.")
        try require(fileID.map({ $0 > 0 }) ?? true, "An ID must be 1 or more.")
        try require(response != nil || fileID != nil, "Specify a response, or --file-id for a token typed by hand.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        // A default server may be the wrong one and would receive the token in a deletion.
        let isNamed = connection.server != nil || connection.named.profile != nil
        let server = isNamed ? try settings.requireServer() : nil
        let responses = KeptResponses(store: session.store, directory: session.directory)
        let source = try response.map { try self.source($0, among: responses, in: session.directory) }
        let token = tokenStdin || response == nil ? try await typedToken(settings) : nil
        let adoption: KeptResponses.Adoption
        do {
            adoption = try await responses.adopt(
                source,
                typed: token,
                fileID: fileID,
                server: server,
                isDryRun: dryRun
            )
        } catch {
            if case .store(let error) = error { throw error }
            throw userFacingError(of: error)
        }
        let entry = adoption.entry
        let result = adoption.wasStored ? "already_stored" : dryRun ? "planned" : "stored"
        let what = "the delete token of \(entry.fileID) on \(ErrorCatalog.clean(entry.host))"
        console.record(
            .item,
            [
                "file_id": .integer(entry.fileID), "host": .string(entry.host), "server": .string(entry.baseURL),
                "result": .string(result),
            ]
        )
        console.text([
            adoption.wasStored ? "\(what) is already stored" : dryRun ? "would store \(what)" : "stored \(what)",
            "  to delete: mediactl uploads delete \(entry.fileID) --server \(ErrorCatalog.clean(entry.baseURL))",
        ])
        return console.finish(["items": 1, "dry_run": .bool(dryRun)])
    }

    // MARK: Sources

    /// Far above the largest response accepted by an upload.
    private static let limit = 16 << 20

    /// The source: an ID, a path in the data directory, or any other file.
    private func source(
        _ name: String,
        among responses: KeptResponses,
        in directory: DataDirectory
    ) throws -> KeptResponses.Source {
        if name.wholeMatch(of: /r-[0-9a-f]{8}/) != nil { return .response(name) }
        let path = RawArguments.bytes(of: name)
        let resolved = realpath(name, nil)
        defer { free(resolved) }
        if resolved == nil, name.wholeMatch(of: /r-[0-9a-f]{1,7}/) != nil {
            return .response(try responses.named(name).id)
        }
        if let resolved, String(cString: resolved).hasPrefix(directory.path + "/") {
            return .response(String(cString: resolved))
        }
        do throws(WholeInput.Failure) {
            return .body(try WholeInput.all(at: path, limit: Self.limit))
        } catch {
            throw ImportFile.unreadable(ErrorCatalog.quoted(path), error)
        }
    }

    private func typedToken(_ settings: SettingsSession) async throws -> DeleteToken {
        let context = settings.console.context
        let text: String
        if tokenStdin {
            let bytes = try? WholeInput.all(from: context.standardInput, limit: 4096)
            text = String(decoding: bytes ?? [], as: UTF8.self)
        } else {
            guard settings.prompter.isAllowed else {
                throw UserFacingError.usage(
                    "not a terminal; the token cannot be typed",
                    hint: "pipe it to standard input, with --token-stdin"
                )
            }
            text = try await context.interruption.canceling { try await PasswordPrompt.prompt("Delete token: ") }
        }
        guard let token = DeleteToken(text.trimmingCharacters(in: .whitespacesAndNewlines)), token.isWellFormed else {
            throw UserFacingError.usage("not a delete token: 64 hexadecimal characters are required")
        }
        return token
    }

    // MARK: Errors

    private func userFacingError(of error: AdoptionError) -> UserFacingError {
        let flags = (tokenStdin ? ["--token-stdin"] : []) + (dryRun ? ["--dry-run"] : [])
        return Self.userFacingError(of: error, named: response, fileID: fileID.map(String.init), flags)
    }

    /// The message for an error that does not concern the store. `name` is the response as entered by the user; printed
    /// commands have the other options of this one, and the console adds `--server`.
    static func userFacingError(
        of error: AdoptionError,
        named name: String?,
        fileID: String? = nil,
        _ flags: [String] = []
    ) -> UserFacingError {
        let response = name.map { ErrorCatalog.quoted($0) } ?? "the response"
        func command(_ response: String?, fileID: String? = fileID, _ more: [String] = []) -> String {
            let words = (flags + more).uniqued { $0 } + (fileID.map { ["--file-id \($0)"] } ?? [])
            return (["mediactl uploads adopt"] + (response.map { [ShellWord.quoted($0)] } ?? []) + words)
                .joined(separator: " ")
        }
        switch error {
        case .unknownResponse:
            return UserFacingError(
                .unknownResponse,
                "no kept response \(response)",
                hint: "mediactl uploads responses"
            )
        case .severalResponses(let ids):
            return .usage(
                "\(response) contains several responses" + (ids.isEmpty ? "" : ": " + ids.joined(separator: ", ")),
                hint: ids.first.map { "to adopt one of them: \(command($0))" }
                    ?? "mediactl uploads responses"
            )
        case .noToken, .store:
            return UserFacingError(
                .noTokenFound,
                "\(response) contains no delete token, or more than one",
                hint: "to type the token: \(command(name, fileID: fileID ?? "ID", ["--token-stdin"]))"
            )
        case .noFileID: return .usage("the ID of the file is unknown", hint: command(name, fileID: "ID"))
        case .otherFile(let id):
            return .usage("\(response) is for the file \(id)", hint: command(name, fileID: String(id)))
        case .noServer:
            return .usage("the server of the file is unknown", hint: command(name) + " --server https://HOST")
        case .otherServer(let server):
            return .usage("\(response) is from \(ErrorCatalog.clean(server))", hint: "omit --server")
        case .tokenInUse:
            return UserFacingError(
                .tokenInUse,
                "another file on the same host has this delete token",
                hint: "mediactl uploads list"
            )
        case .removed(let id):
            return UserFacingError(
                .tokenRemoved,
                "the entry of \(id) was removed on this machine, for example by a deletion; its token was not stored again",
                hint: "check the file with: mediactl media show \(id)"
            )
        }
    }
}
