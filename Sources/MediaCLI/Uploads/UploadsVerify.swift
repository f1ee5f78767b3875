internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct UploadsVerify: ContextCommand {
    static let schema = "mediactl.uploads-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare earlier uploads with the server's listing.",
        discussion: """
            Checks that the server lists every file uploaded from this machine with its checksum, ID and event. Guest \
            uploads, and files that this machine has deleted on the server, are not checked. Exits with 3 if files are \
            missing. With --report, the server in the report is used.

            Examples:
              mediactl uploads verify
              mediactl uploads verify --report run.json --json
            """
    )

    @Option("Check the files in this report, written by mediactl upload --report.", value: .file)
    var report: String?

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(report != "", "--report: the path is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let server: ServerURL
        let files: [UploadResults.StoredFile]
        var guestCount = 0
        if let report {
            let past = try ReportDocument(
                reading: await InputFile.bytes(report, flag: "--report", in: console.context),
                name: report
            )
            server = try past.server(else: settings)
            files = try past.stored(at: server, name: report)
            if !past.failed.isEmpty {
                console.warning(
                    "not checked: \(Formats.count(past.failed.count, "file")) whose upload did not succeed",
                    hint: "mediactl upload --retry-failed \(ShellWord.quoted(report)) --server "
                        + ShellWord.quoted(server.description)
                )
            }
        } else {
            server = try settings.requireServer()
            let store = try await StoreSession.open(settings, for: .reading)
            files = try store.stored(at: server)
            // Events of guest uploads are visible only to their organizer.
            guestCount = try store.store.guestUploads(host: server.scope).count { $0.isHeldForGuest }
        }
        if guestCount > 0 {
            console.note("\(Formats.count(guestCount, "guest upload")) cannot be verified by the listing")
        }
        try console.start(["server": .string(server.description), "items": JSONValue(files.count)])
        let client = try await ServerSession(settings, credentials: credentials).client(
            for: server,
            retryCommand: "mediactl uploads verify" + (report.map { " --report \(ShellWord.quoted($0))" } ?? "")
        )
        let verification = try await console.context.interruption.canceling {
            await UploadVerification.of(files, client)
        }
        if let failure = verification.failure { throw failure }
        console.report(verification)
        console.text([
            files.isEmpty
                ? "no uploads to verify"
                : "the server lists \(verification.confirmed.count) of \(Formats.count(files.count, "upload"))"
                    + " in \(files.count == 1 ? "its event" : "their events")"
        ])
        return console.ending(verification.missing.isEmpty ? .success : .partly).runSummary([
            "items": JSONValue(files.count), "confirmed": JSONValue(verification.confirmed.count),
            "missing": JSONValue(verification.missing.count), "guests": JSONValue(guestCount),
        ])
    }
}

extension StoreSession {
    /// The uploads in the journal that a server confirmed and this machine has not deleted; each file in an event is
    /// listed once.
    fileprivate func stored(at server: ServerURL) throws -> [UploadResults.StoredFile] {
        let states = Set(UploadState.allCases.filter(\.isStored))
        var seen: Set<[String]> = []
        var files: [UploadResults.StoredFile] = []
        for record in try store.uploads(states: states, host: server.scope) where !record.isGuest {
            guard let fileID = record.fileID, let checksum = record.checksumSHA256,
                let date = record.fields["event_date"], let orgName = record.fields["org_name"],
                seen.insert([checksum, date, orgName]).inserted,
                try !store.isRemoved(host: server.scope, fileID: fileID, checksumSHA256: checksum)
            else { continue }
            files.append(
                UploadResults.StoredFile(
                    index: files.count,
                    path: record.path,
                    upload: StoredUpload(
                        fileID: fileID,
                        checksumSHA256: checksum,
                        eventDate: date,
                        orgName: orgName
                    )
                )
            )
        }
        return files
    }
}

extension ReportDocument {
    /// The server on the command line, otherwise the one in the report.
    fileprivate func server(else settings: SettingsSession) throws -> ServerURL {
        guard settings.flags[.server] == nil, !server.isEmpty else { return try settings.requireServer() }
        return try ServerURL(server)
    }

    /// The files that the report lists as stored.
    ///
    /// - Throws: `UserFacingError` (usage) for a report from a different server, which cannot have these files.
    fileprivate func stored(at server: ServerURL, name: String) throws(UserFacingError) -> [UploadResults.StoredFile] {
        guard self.server == server.description else {
            throw .usage(
                "the report is for \(ErrorCatalog.clean(self.server)), not for \(server)",
                hint: "omit --server: mediactl uploads verify --report \(ShellWord.quoted(name))"
            )
        }
        return stored
    }
}

/// The result of comparing a run with the server's own listing.
struct UploadVerification: Sendable {
    /// Files in the run that are not listed in their event with their ID.
    var missing: [UploadResults.StoredFile]
    /// Positions of the listed files.
    var confirmed: Set<Int> = []
    /// The reason why the listing could not be read. In this case, no file counts as confirmed or missing.
    var failure: UserFacingError?

    /// Reads the listing once and looks up every file in it.
    static func of(_ files: [UploadResults.StoredFile], _ client: GigHiveClient) async -> UploadVerification {
        do {
            let missing = try await client.missing(among: files.map(\.upload)).map { files[$0] }
            let confirmed = Set(files.map(\.index)).subtracting(missing.map(\.index))
            return UploadVerification(missing: missing, confirmed: confirmed)
        } catch {
            return .impossible(ErrorCatalog.userFacingError(of: error))
        }
    }

    static func impossible(_ failure: UserFacingError) -> UploadVerification {
        UploadVerification(missing: [], failure: failure)
    }
}

extension StoredUpload {
    /// nil for results other than a stored file, or if the ID or checksum is missing.
    init?(_ result: UploadResult) {
        guard result.state.isStored, let fileID = result.fileID, let checksum = result.checksumSHA256,
            let details = result.details
        else { return nil }
        self.init(
            fileID: fileID,
            checksumSHA256: checksum,
            eventDate: details.eventDate,
            orgName: details.orgName
        )
    }
}

extension JSONRenderer {
    static func verification(_ verification: UploadVerification) -> JSONObject {
        [
            "asked": .bool(verification.failure == nil), "confirmed": JSONValue(verification.confirmed.count),
            "missing": .array(
                verification.missing.map { file in
                    .object([
                        "path": .path(file.path), "file_id": .integer(file.upload.fileID),
                        "checksum_sha256": .string(file.upload.checksumSHA256),
                        "event_date": .string(file.upload.eventDate), "org_name": .string(file.upload.orgName),
                    ])
                }
            ),
            "reason": JSONValue(verification.failure?.message),
        ]
    }
}

extension Console {
    /// Prints a line for each file that the server does not list, and a warning if the listing cannot be read.
    func report(_ verification: UploadVerification) {
        record(.verification, JSONRenderer.verification(verification))
        if let failure = verification.failure {
            warning("cannot verify the files against the server's listing: \(failure.message)")
        }
        for file in verification.missing {
            error(
                UserFacingError(
                    .notListed,
                    "\(ErrorCatalog.quoted(file.path)): the server does not list \(file.upload.fileID) in its event"
                )
            )
        }
    }
}
