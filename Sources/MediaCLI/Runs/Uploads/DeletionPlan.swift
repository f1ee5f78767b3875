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
    /// Whether a flag named it, so that it is the address even for another `--host`.
    let isServerNamed: Bool
    /// `--host`.
    let host: String?

    /// The scope of all ids; nil when each id tells its own.
    private var scope: String? { host ?? server?.scope }

    /// The newest entry's id, for `--last`.
    ///
    /// - Throws: `StoreError`; `Diagnosis` when there is no entry.
    func last() throws -> TokenEntry {
        guard let entry = try store.tokens(host: scope).first else {
            throw Diagnosis(
                GigHiveError.Code.noDeleteToken.rawValue,
                "nothing uploaded from here can be taken back",
                exitCode: .deleteToken
            )
        }
        return entry
    }

    /// The target of an id.
    ///
    /// - Throws: `StoreError`; `GigHiveError` with code `.noDeleteToken`; `Diagnosis` when several hosts know the id;
    ///   `ServerURLError` for an entry whose address cannot be used.
    func target(for fileID: Int64) throws -> Target {
        let entries = try store.tokens(host: nil).filter { $0.fileID == fileID }
        let hosts = Set(entries.map(\.host)).sorted()
        if let scope {
            let own = entries.first { $0.host == scope }
            guard let address = try address(for: scope, entry: own) else {
                throw GigHiveError(.noDeleteToken, fileID: fileID, otherHosts: hosts)
            }
            return Target(fileID: fileID, host: scope, server: address)
        }
        guard let entry = entries.first, hosts.count == 1 else {
            throw hosts.isEmpty ? GigHiveError(.noDeleteToken, fileID: fileID) : ambiguous(fileID, hosts)
        }
        return Target(fileID: fileID, host: entry.host, server: try ServerURL(entry.baseURL))
    }

    /// A named server is always asked; a configured one only for its own scope; else the entry's own address.
    private func address(for scope: String, entry: TokenEntry?) throws(ServerURLError) -> ServerURL? {
        if let server, isServerNamed || server.scope == scope {
            return server
        }
        guard let entry else { return nil }
        return try ServerURL(entry.baseURL)
    }

    private func ambiguous(_ fileID: Int64, _ hosts: [String]) -> any Error {
        let names = hosts.map { ErrorCatalogue.clean($0) }
        return Diagnosis.usage(
            "\(fileID) is known for several hosts: \(names.joined(separator: ", "))",
            hint: "name one, for example: mediactl uploads delete \(fileID) --host \(names[0])"
        )
    }
}
