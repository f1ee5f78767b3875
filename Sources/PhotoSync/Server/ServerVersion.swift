internal import MediaCore
internal import MediaTransport

/// The build of a server (photosync contract section 2).
public struct ServerVersion: Sendable, Equatable {
    /// `dev` for an unstamped build. Untrusted text.
    public var version: String
    /// The commit of the build; nil if unknown.
    public var commit: String?
}

extension PhotoSyncClient {
    /// `GET /api/version`, without a key (contract section 2).
    public func version() async throws(PhotoSyncError) -> ServerVersion {
        let members = JSONValue.object(in: try await json(of: openRequest(.get, "/api/version"))[...])
        let commit = members?["gitCommit"]?.text
        return ServerVersion(
            version: ServerText.cut(try MemberReader.require(members?["version"]?.text, "version")),
            commit: commit == "unknown" ? nil : commit.map(ServerText.cut)
        )
    }
}
