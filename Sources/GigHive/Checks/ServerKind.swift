internal import MediaCore
internal import MediaTransport

/// The kind of server at an address, as far as it can be determined without a login.
enum ServerKind: String, Sendable {
    case gighive
    case photosync
    case capture

    /// The name for messages.
    var name: String {
        switch self {
        case .gighive: "GigHive"
        case .photosync: "PhotoSync"
        case .capture: "hash-only capture"
        }
    }

    /// The result of the detection.
    enum Finding: Sendable {
        case kind(ServerKind)
        /// The health page of GigHive could not be served, so the kind is unknown.
        case inTrouble(status: Int)
        /// The server responds, but is of no known kind.
        case unknown(status: Int)
    }

    /// Asks for pages that each kind serves to everybody and that change nothing: `/db/health.php` (gighive contract
    /// section 7), `/api/health` (photosync contract section 2), `/api/v1/verify/ID` (hash-only contract 6.3).
    ///
    /// - Throws: `GigHiveError` when there is no response.
    static func find(_ client: GigHiveClient) async throws(GigHiveError) -> Finding {
        let health = try await client.send(client.healthRequest, control: TransferControl())
        let members = ReplyText.content(of: health.body).members
        if let status = members.text("status"), ["ok", "error"].contains(status) { return .kind(.gighive) }
        // Before its setup a PhotoSync server refuses every path like this.
        if members.text("setupUrl") != nil { return .kind(.photosync) }
        guard health.status < 500 else { return .inTrouble(status: health.status) }
        let photos = try await look("/api/health", client)
        if ReplyText.content(of: photos.body).members.text("status") == "healthy" { return .kind(.photosync) }
        let captures = try await look("/api/v1/verify/00000000-0000-4000-8000-000000000000", client)
        let meta = ReplyText.content(of: captures.body).members["meta"]?.members
        if meta?.text("request_id") != nil { return .kind(.capture) }
        return .unknown(status: health.status)
    }

    private static func look(_ path: String, _ client: GigHiveClient) async throws(GigHiveError) -> HTTPResponse {
        try await client.send(client.request(.get, path, isAuthorized: false), control: TransferControl())
    }
}
