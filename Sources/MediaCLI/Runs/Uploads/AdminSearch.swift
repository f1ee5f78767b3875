internal import GigHive
internal import MediaStore
internal import MediaTransport

/// A file without a local entry that an administrator wants to delete.
struct AdminCandidate: Sendable {
    /// The scope of its local entries.
    var host: String
    /// The file on the server, shown before the prompt.
    var file: ServerMedia
    /// What is deleted.
    var target: AdminDeletion
    var deleter: Deleter

    func result(_ state: DeleteResult.State) -> DeleteResult {
        DeleteResult(fileID: target.fileID, state: state, host: host)
    }
}

/// Finds files without a local entry on the server, for deletions with admin rights.
struct AdminSearch: Sendable {
    let plan: DeletionPlan
    let servers: ServerSession
    /// The required checksum; nil if none was specified.
    let checksumSHA256: String?
    /// Whether the deletion was confirmed with `--yes`, before the file was shown.
    let isConfirmed: Bool
    let isDryRun: Bool

    /// The ids of the file with the checksum, from the listing.
    ///
    /// - Throws: `GigHiveError`; `Diagnosis` when there is no such file.
    func ids() async throws -> [Int64] {
        guard let checksumSHA256 else { return [] }
        guard let (_, server) = try plan.adminTarget(for: nil) else { throw Self.noServer }
        var query = MediaQuery()
        query.checksumSHA256 = checksumSHA256
        let found = try await servers.client(for: server).media(matching: query).map(\.fileID)
        guard !found.isEmpty else {
            throw Diagnosis(
                "not_found",
                "the server has no file with the checksum \(checksumSHA256)",
                exitCode: .notFound
            )
        }
        return found
    }

    /// The file of an ID, whose checksum must match the expected one: from the options, otherwise from the journal.
    ///
    /// - Throws: `GigHiveError`; `Diagnosis` if the server has no such file, or if no checksum is known with `--yes`.
    func candidate(for fileID: Int64) async throws -> AdminCandidate {
        guard let (host, server) = try plan.adminTarget(for: fileID) else { throw Self.noServer }
        let known = try checksumSHA256 ?? plan.journaledChecksum(of: fileID, host: host)
        guard known != nil || !isConfirmed || isDryRun else {
            throw Diagnosis.usage(
                "--yes requires --sha256 or --file for \(fileID), which has no local entry",
                hint: "mediactl media show \(fileID)"
            )
        }
        let client = try await servers.client(for: server)
        if !isDryRun {
            try await client.requireAdmin()
        }
        guard let asset = try await client.asset(fileID) else { throw Diagnosis.noSuchMedia(fileID) }
        guard let checksum = asset.checksumSHA256 else {
            throw GigHiveError(.adminUnverified, detail: "the server reports no checksum", fileID: fileID)
        }
        guard checksum == known ?? checksum else {
            throw GigHiveError(.idReused, detail: "its checksum is \(checksum)", fileID: fileID)
        }
        return AdminCandidate(
            host: host,
            file: try await client.media(including: asset),
            target: AdminDeletion(fileID: fileID, checksumSHA256: checksum, sizeBytes: asset.sizeBytes),
            deleter: Deleter(client: client, store: plan.store, host: host)
        )
    }

    private static var noServer: Diagnosis {
        Diagnosis(
            "no_server",
            "no server configured",
            hint: "set --server URL, or MEDIACTL_SERVER",
            exitCode: .usage
        )
    }
}

extension DeletionPlan {
    /// Whether an id has a local entry in the scope of the deletion.
    ///
    /// - Throws: `StoreError`.
    func hasEntry(for fileID: Int64) throws -> Bool {
        try !store.tokens(fileID: fileID, host: scopeName.isEmpty ? nil : scopeName).isEmpty
    }

    /// The scope of all ids; empty when each id has its own.
    var scopeName: String { host ?? server?.scope ?? "" }
}
