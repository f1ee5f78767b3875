internal import GigHive
internal import MediaStore
internal import MediaTransport

/// Finds out which server and which scope each deletion concerns.
struct DeletionPlan: Sendable {
    /// One id on one host.
    struct Target: Sendable, Equatable {
        var fileID: Int64
        /// The scope whose entries are used.
        var host: String
        /// The address that is asked.
        var server: ServerURL
    }

    let store: TokenStore
    /// The server that flags or settings name.
    let server: ServerURL?
    /// Whether a flag specifies it. Its scope is then that of the whole command (`requireOneScope`).
    let isServerNamed: Bool
    /// `--host`.
    let host: String?

    /// The scope of all ids; nil when each id tells its own.
    private var scope: String? { host ?? server?.scope }

    /// Refuses `--host` and `--server` of two servers: a delete token is sent only to the server that issued it.
    ///
    /// - Throws: `Diagnosis` (usage).
    func requireOneScope() throws(Diagnosis) {
        guard isServerNamed, let host, let server, server.scope != host else { return }
        let (named, other) = (ErrorCatalogue.clean(host), ErrorCatalogue.clean(server.scope))
        throw .usage(
            "--host \(named) and --server \(server) are two servers",
            hint: "omit --server to delete from \(named), or omit --host to delete from \(other)"
        )
    }

    /// The newest entry's id, for `--last`.
    ///
    /// - Throws: `StoreError`; `Diagnosis` when there is no entry.
    func last() throws -> TokenEntry {
        guard let entry = try store.newestToken(host: scope) else {
            throw Diagnosis(
                GigHiveError.Code.noDeleteToken.rawValue,
                "no stored delete tokens",
                exitCode: .deleteToken
            )
        }
        return entry
    }

    /// The newest entry of a file with this content; nil when there is none and none is required.
    ///
    /// - Throws: `StoreError`; `Diagnosis` when there is no entry, or several hosts have one.
    func entry(checksumSHA256: String, isRequired: Bool) throws -> TokenEntry? {
        let entries = try store.tokens(checksumSHA256: checksumSHA256, host: scope)
        if entries.isEmpty, isRequired {
            throw Diagnosis(
                GigHiveError.Code.noDeleteToken.rawValue,
                "no stored delete token for the checksum \(checksumSHA256)",
                hint: "an administrator can delete it: mediactl uploads delete --as-admin --sha256 \(checksumSHA256)",
                exitCode: .deleteToken
            )
        }
        let hosts = Set(entries.map(\.host)).sorted()
        guard hosts.count < 2 else {
            let names = hosts.map { ErrorCatalogue.clean($0) }
            throw Diagnosis.usage(
                "several hosts have this file: \(names.joined(separator: ", "))",
                hint: "mediactl uploads delete --sha256 \(checksumSHA256) --host \(names[0])"
            )
        }
        return entries.first
    }

    /// The scope and address for an administrator when no entry has them: those of the configured server, otherwise
    /// of the only host whose journal has the id.
    ///
    /// - Throws: `StoreError`, `ServerURLError`; nil when neither is known.
    func adminTarget(for fileID: Int64?) throws -> (host: String, server: ServerURL)? {
        if let server, host == nil || server.scope == host {
            return (server.scope, server)
        }
        let records = try journal(fileID)
        guard let record = records.first, Set(records.map(\.host)).count == 1 else { return nil }
        return (record.host, try ServerURL(record.baseURL))
    }

    /// The checksum in the journal for an ID whose token was lost.
    ///
    /// - Throws: `StoreError`.
    func journaledChecksum(of fileID: Int64, host: String) throws -> String? {
        try journal(fileID).first { $0.host == host && $0.checksumSHA256 != nil }?.checksumSHA256
    }

    private func journal(_ fileID: Int64?) throws -> [UploadRecord] {
        guard let fileID else { return [] }
        return try store.uploads(fileID: fileID, host: host)
    }

    /// The target of an id.
    ///
    /// - Throws: `StoreError`; `GigHiveError` with code `.noDeleteToken`; `Diagnosis` when several hosts know the id;
    ///   `ServerURLError` for an entry whose address cannot be used.
    func target(for fileID: Int64) throws -> Target {
        let entries = try store.tokens(fileID: fileID, host: nil)
        let hosts = Set(entries.map(\.host)).sorted()
        if let scope {
            let own = entries.first { $0.host == scope }
            guard let address = try address(for: scope, entry: own) else {
                throw GigHiveError.withoutToken(fileID, host: scope, in: store)
            }
            return Target(fileID: fileID, host: scope, server: address)
        }
        guard let entry = entries.first, hosts.count == 1 else {
            throw hosts.isEmpty ? GigHiveError.withoutToken(fileID, host: nil, in: store) : ambiguous(fileID, hosts)
        }
        return Target(fileID: fileID, host: entry.host, server: try ServerURL(entry.baseURL))
    }

    /// The configured server for its own scope; otherwise the entry's own address.
    private func address(for scope: String, entry: TokenEntry?) throws(ServerURLError) -> ServerURL? {
        if let server, server.scope == scope {
            return server
        }
        guard let entry else { return nil }
        return try ServerURL(entry.baseURL)
    }

    private func ambiguous(_ fileID: Int64, _ hosts: [String]) -> any Error {
        let names = hosts.map { ErrorCatalogue.clean($0) }
        return Diagnosis.usage(
            "several hosts have a file \(fileID): \(names.joined(separator: ", "))",
            hint: "specify one, for example: mediactl uploads delete \(fileID) --host \(names[0])"
        )
    }
}
