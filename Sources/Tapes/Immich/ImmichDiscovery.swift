internal import MediaCore
public import MediaTransport

extension ImmichLibrary {
    /// Asks the host of an address where its server's base is (contract 6.1): `/.well-known/immich`. Without a key.
    ///
    /// - Parameters:
    ///   - server: The user's address. One with a path says itself where the server is, and nobody is asked.
    ///   - http: Talks to it.
    ///   - timeouts: Silence limits.
    /// - Returns: The base; the address itself where there is no answer to the point. A base on another host is none:
    ///   the key belongs to the host that the user named.
    public static func discover(
        _ server: ServerURL,
        http: HTTPClient,
        timeouts: TransferTimeouts
    ) async -> ServerURL {
        guard server.basePath.isEmpty else { return server }
        let request = HTTPRequest(
            .get,
            server.resource("/.well-known/immich"),
            repeatability: .safe,
            timeouts: timeouts,
            destination: .memory(limit: ImmichRefusal.longestBody)
        )
        guard let response = try? await http.execute(request), response.status == 200,
            let endpoint = JSONValue.object(in: response.body[...])?["api"]?.members?["endpoint"]?.text
        else { return server }
        let text = endpoint.hasPrefix("/") ? server.origin.description + endpoint : endpoint
        guard let base = try? ServerURL(text, allowingPath: true), base.origin == server.origin else { return server }
        return base
    }
}
