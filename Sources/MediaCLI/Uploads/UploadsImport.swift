internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import Glibc
internal import MediaCore
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

struct UploadsImport: ContextCommand {
    static let schema = "mediactl.uploads-import/1"
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import delete tokens from an export, or from the upload page in a browser.",
        discussion: """
            Importing a file again does not change anything. If an uploaded file has two tokens, both are kept; the \
            newer one is used. Entries deleted or removed on this machine stay removed, unless mediactl uploads clear \
            has been run since.
            The upload page stores tokens in the browser's local storage under uploader_delete_tokens_v1, without the \
            server, so --server is required. Checksums and events come from the server; tokens for files that the \
            server does not have are not imported.

            Examples:
              mediactl uploads import tokens.jsonl
              mediactl uploads import --web tokens.json --server https://gighive.example
            """
    )

    @Argument("The exported file; - for standard input.", value: .file)
    var file: String

    @Flag(help: "The file contains the tokens from the server's upload page (default: detected).")
    var web = false

    @Flag(name: .dryRun, help: "Show what would be imported, without importing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials (for --web)") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options (for --web)") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file != "", "The path is empty.")
        try require(
            file != "-" || !credentials.passwordStdin,
            "Standard input cannot be both the file and the password."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        // The whole file is validated before the first entry is stored.
        let content = try ImportFile.content(of: file, standardInput: console.context.standardInput, isWeb: web)
        switch content {
        case .export(var reader):
            guard credentials.flags.names.isEmpty else {
                throw UserFacingError.usage(
                    "importing an export does not use a login",
                    hint: "omit the password and key options"
                )
            }
            let unused = connection.flags.names.subtracting(["--profile"]).sorted()
            guard unused.isEmpty else {
                throw UserFacingError.usage(
                    "importing an export sends nothing; its entries include their servers",
                    hint: "omit \(unused.joined(separator: ", "))"
                )
            }
            let session = try await StoreSession.open(settings)
            let statistics = ImportStatistics(
                counts: try session.store.addPages(isDryRun: dryRun) { try reader.nextPage() }
            )
            console.text([statistics.text(isDryRun: dryRun)])
            return console.finish(statistics.members(isDryRun: dryRun))
        case .web(let tokens):
            let server = try namedServer(settings)
            let session = try await StoreSession.open(settings)
            let client = try await ServerSession(settings, credentials: credentials).client(for: server)
            let run = WebImportRun(console: console, client: client, store: session.store, isDryRun: dryRun)
            return try await run.run(tokens)
        }
    }

    /// The server of the upload page. A default server may be the wrong one and would receive the tokens in a deletion.
    private func namedServer(_ settings: SettingsSession) throws -> ServerURL {
        guard connection.choice.server != nil || connection.choice.named.profile != nil else {
            throw UserFacingError.usage(
                "the tokens from an upload page do not include the server",
                hint:
                    "mediactl uploads import --web \(ShellWord.quoted(file)) "
                    + "--server https://HOST"
            )
        }
        return try settings.requireServer()
    }
}

enum ImportFile {
    /// A browser stores at most 10 MB per page; larger files are read as exports only.
    private static let webLimit: Int64 = 16 << 20

    enum Content: Sendable {
        /// The output of `mediactl uploads export`, of any size, with every line valid.
        case export(ExportReader)
        /// The tokens from the server's upload page.
        case web(WebTokens)
    }

    /// Validates the whole file, with at most one page of export lines in memory. `file` is a path, or `-` for
    /// `standardInput`. `isWeb` requires tokens from the upload page; otherwise the format is detected.
    ///
    /// - Throws: `UserFacingError`, which never contains any text from the file.
    static func content(of file: String, standardInput: Int32, isWeb: Bool) throws -> Content {
        let path = RawArguments.bytes(of: file)
        let name = file == "-" ? "standard input" : ErrorCatalog.quoted(path)
        do {
            let source = try file == "-" ? SeekableInput(copying: standardInput) : SeekableInput(at: path)
            if source.byteCount <= webLimit, let web = WebTokens(try source.read(at: 0, count: Int(source.byteCount))) {
                return .web(web)
            }
            guard !isWeb else {
                throw UserFacingError(
                    .invalidImport,
                    "\(name) does not contain tokens from an upload page",
                    hint: "copy them in the page's developer console: copy(localStorage.\(WebTokens.storageKey))"
                )
            }
            var validation = ExportReader(source, name: name, scope: scope)
            while try validation.nextPage() != nil {}
            return .export(ExportReader(source, name: name, scope: scope))
        } catch let error as WholeInput.Failure {
            throw unreadable(name, error)
        }
    }

    /// Applies the rules for request addresses, so a token is never sent to a host other than its own.
    @Sendable private static func scope(of baseURL: String) -> String? {
        guard let server = try? ServerURL(baseURL), !server.assumedScheme else { return nil }
        return server.scope
    }

    static func unreadable(_ name: String, _ failure: WholeInput.Failure) -> UserFacingError {
        switch failure {
        case .tooLarge: UserFacingError(.fileTooLarge, "\(name) is too large")
        case .cancelled: UserFacingError(.cancelled, "canceled")
        default:
            UserFacingError(
                failure == .missing ? .fileNotFound : .fileUnreadable,
                "cannot read \(name): \(failure.reason)",
                hint: failure.hint
            )
        }
    }
}

/// Reads the entries of an export, one page at a time.
struct ExportReader: Sendable {
    private static let pageSize = 1000
    private static let chunkSize = 256 << 10
    /// Longer than any valid line.
    private static let lineLimit = 1 << 20

    private let source: SeekableInput
    private let name: String
    private let scope: @Sendable (String) -> String?
    private var buffer: [UInt8] = []
    private var position = 0
    private var offset: Int64 = 0
    private var lineNumber = 0
    private var isAtEnd = false
    /// Most lines have the same address as the previous line.
    private var lastScope: (baseURL: String, host: String?)?

    /// `name` is used in messages; `scope` is used as for `TokenExport.entry`.
    init(_ source: SeekableInput, name: String, scope: @escaping @Sendable (String) -> String?) {
        self.source = source
        self.name = name
        self.scope = scope
    }

    /// nil after the last entry.
    ///
    /// - Throws: `UserFacingError` if a line is invalid or the file cannot be read.
    mutating func nextPage() throws(UserFacingError) -> [TokenEntry]? {
        var entries: [TokenEntry] = []
        while entries.count < Self.pageSize, let line = try nextLine() {
            guard !line.isEmpty else { continue }
            do throws(TokenExportError) {
                entries.append(try entry(in: line))
            } catch {
                throw UserFacingError(
                    .invalidImport,
                    "\(name), line \(error.line): \(error.reason)",
                    hint: "nothing was imported; the file must be an unmodified export from mediactl uploads export"
                )
            }
        }
        return entries.isEmpty ? nil : entries
    }

    private mutating func entry(in line: ArraySlice<UInt8>) throws(TokenExportError) -> TokenEntry {
        var last = lastScope
        defer { lastScope = last }
        return try TokenExport.entry(in: line, number: lineNumber) { baseURL in
            if last?.baseURL != baseURL { last = (baseURL, scope(baseURL)) }
            return last?.host
        }
    }

    /// The next line without its line ending; nil after the last one.
    private mutating func nextLine() throws(UserFacingError) -> ArraySlice<UInt8>? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { position = end + 1 }
                return line(upTo: end)
            }
            searched = buffer.count
            guard !isAtEnd, buffer.count - position <= Self.lineLimit else {
                guard position < buffer.count else { return nil }
                defer { position = buffer.count }
                return line(upTo: buffer.count)
            }
            let chunk = try nextChunk()
            offset += Int64(chunk.count)
            isAtEnd = chunk.count < Self.chunkSize
            searched -= position
            buffer.removeFirst(position)
            position = 0
            buffer += chunk
        }
    }

    private func nextChunk() throws(UserFacingError) -> [UInt8] {
        do throws(WholeInput.Failure) {
            return try source.read(at: offset, count: Self.chunkSize)
        } catch {
            throw ImportFile.unreadable(name, error)
        }
    }

    private mutating func line(upTo end: Int) -> ArraySlice<UInt8> {
        lineNumber += 1
        let line = buffer[position..<end]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }
}

struct ImportStatistics {
    let counts: [AddOutcome: Int]
    /// Number of tokens for files that the server does not have.
    var missing = 0

    func text(isDryRun: Bool) -> String {
        let taken = count(.added) + count(.conflicting)
        let tokens = Formats.count(taken, "delete token")
        var text = isDryRun ? "\(tokens) would be imported" : "imported \(tokens)"
        if count(.conflicting) > 0 {
            text += " (\(count(.conflicting)) with another token for the same file)"
        }
        let others = [
            (count(.known), "already stored"), (count(.buried), "removed earlier"), (missing, "not on the server"),
        ]
        return text + others.filter { $0.0 > 0 }.map { ", \($0) \($1)" }.joined()
    }

    func members(isDryRun: Bool) -> JSONObject {
        [
            "dry_run": .bool(isDryRun), "items": JSONValue(counts.values.reduce(missing, +)),
            "added": JSONValue(count(.added)),
            "known": JSONValue(count(.known)), "buried": JSONValue(count(.buried)),
            "conflicting": JSONValue(count(.conflicting)), "not_on_server": JSONValue(missing),
        ]
    }

    private func count(_ outcome: AddOutcome) -> Int { counts[outcome] ?? 0 }
}

/// Imports tokens from the upload page. Checksums and details come from the server, because the page contains neither.
struct WebImportRun: Sendable {
    let console: Console
    let client: GigHiveClient
    let store: TokenStore
    let isDryRun: Bool

    /// Queries the server for each file and stores the tokens for files that exist there.
    ///
    /// - Throws: `UserFacingError` for an invalid token; `GigHiveError`, `StoreError`.
    func run(_ web: WebTokens) async throws -> ExitCode {
        let tokens = try web.tokens.map { fileID, text throws(UserFacingError) in
            guard let token = DeleteToken(text) else {
                throw UserFacingError(
                    .invalidImport,
                    "the entry of \(fileID) is not a delete token",
                    hint: "nothing was imported"
                )
            }
            return (fileID: fileID, token: token)
        }
        let now = console.context.now()
        var entries: [TokenEntry] = []
        var stored: [StoredFile] = []
        var missing: [Int64] = []
        let events = try await events()
        for (fileID, token) in tokens {
            guard let asset = try await client.asset(fileID) else {
                missing.append(fileID)
                continue
            }
            let listed = events[fileID] ?? []
            entries.append(entry(asset, token, listed.first, now))
            stored += listed.map { file(asset, $0) }
        }
        for fileID in missing {
            console.warning(
                "\(fileID) is not on \(ErrorCatalog.clean(client.server.scope)); its token was not imported"
            )
        }
        let outcomes = try store.add(entries, isDryRun: isDryRun, stored: stored)
        let counts = Dictionary(outcomes.map { ($0, 1) }, uniquingKeysWith: +)
        let statistics = ImportStatistics(counts: counts, missing: missing.count)
        console.text([statistics.text(isDryRun: isDryRun)])
        let code: ExitCode = missing.isEmpty ? .success : entries.isEmpty ? .notFound : .partly
        return console.ending(code).summary(statistics.members(isDryRun: isDryRun))
    }

    /// Keyed by file ID. If the listing cannot be read, the tokens are imported without events.
    private func events() async throws -> [Int64: [ListingPage.Entry]] {
        var entries: [ListingPage.Entry] = []
        do throws(GigHiveError) {
            var page = try await client.listing()
            entries = page.entries
            while page.page < page.pageCount {
                let next = try await client.listing(page: page.page + 1)
                guard next.page > page.page else { break }
                page = next
                entries += page.entries
            }
        } catch {
            let reason = ErrorCatalog.userFacingError(of: error).message
            console.warning("cannot read the server's listing; date and organization are not imported: \(reason)")
        }
        return Dictionary(grouping: entries.filter { $0.fileID != nil }) { $0.fileID ?? 0 }
    }

    private func entry(
        _ asset: ServerMedia,
        _ token: DeleteToken,
        _ event: ListingPage.Entry?,
        _ now: Date
    ) -> TokenEntry {
        TokenEntry(
            host: client.server.scope,
            fileID: asset.fileID,
            token: token,
            createdAt: now,
            eventDate: event?.date ?? "",
            orgName: event?.orgName ?? "",
            eventType: "",
            label: event?.title,
            fileName: asset.fileName ?? "",
            fileType: asset.fileType ?? event?.fileType ?? "",
            checksumSHA256: asset.checksumSHA256 ?? "",
            sizeBytes: asset.sizeBytes ?? 0,
            baseURL: client.server.description
        )
    }

    private func file(_ asset: ServerMedia, _ event: ListingPage.Entry) -> StoredFile {
        var facts = StoredFacts()
        facts.eventDate = event.date
        facts.orgName = event.orgName
        facts.label = event.title
        facts.mimeType = asset.mimeType
        facts.durationSeconds = asset.durationSeconds
        return StoredFile(
            host: client.server.scope,
            fileID: asset.fileID,
            checksumSHA256: asset.checksumSHA256 ?? "",
            facts: facts
        )
    }
}

/// The delete tokens that the server's upload page stores in a browser (gighive contract, trap T28): a JSON object that
/// maps IDs to tokens, without host, checksum or time.
struct WebTokens: Sendable {
    /// The key in the browser's local storage.
    static let storageKey = "uploader_delete_tokens_v1"

    /// In ascending order of ID, with the tokens as written.
    let tokens: [(fileID: Int64, text: String)]

    /// Parses the object, or a dump of the local storage that contains it; nil for other input.
    init?(_ bytes: [UInt8]) {
        guard var object = JSONValue.object(in: bytes[...]) else { return nil }
        if let inner = object[Self.storageKey] {
            guard let tokens = inner.text.flatMap({ JSONValue.object(in: Array($0.utf8)[...]) }) else { return nil }
            object = tokens
        }
        var tokens: [Int64: String] = [:]
        for (key, value) in object {
            guard Digits.only(key), let fileID = Int64(key), fileID > 0, let text = value.text else { return nil }
            tokens[fileID] = text
        }
        guard !tokens.isEmpty else { return nil }
        self.tokens = tokens.sorted { $0.key < $1.key }.map { (fileID: $0.key, text: $0.value) }
    }
}
