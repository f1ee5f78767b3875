internal import Foundation
internal import MediaStore
internal import MediaTransport

/// The stored logins of upload servers and photo servers.
struct LoginList: Sendable {
    /// One login, without its secret.
    struct Row: Sendable, Equatable {
        /// Address of a photo server, origin of an upload server.
        var server: String
        /// `upload` or `photo`.
        var service: String
        /// `bearer` or `api_key`; nil without a login.
        var scheme: String?
        var email: String?
        var role: String?
        /// Seconds since 1970.
        var expiresAt: Int64?
        var isExpired = false
        /// Whether the upload server is known to require a login.
        var requiresLogin = false

        /// Whether the login can be used.
        var isUsable: Bool { scheme != nil && !isExpired }
    }

    let logins: LoginStore
    let library: LibraryStore

    /// Everything that is stored, by server. Sends nothing.
    ///
    /// - Parameter now: The wall clock.
    /// - Returns: Upload servers, then photo servers.
    /// - Throws: `StoreError`.
    func rows(now: Date) throws(StoreError) -> [Row] {
        let uploads = try logins.entries().sorted { $0.key < $1.key }.map { origin, entry in
            Row(
                server: origin,
                service: "upload",
                scheme: entry.login == nil ? nil : "bearer",
                email: entry.login?.email,
                role: entry.login?.role,
                expiresAt: entry.login?.expiresAt,
                isExpired: entry.login?.isExpired(at: now) ?? false,
                requiresLogin: entry.requiresLogin
            )
        }
        let photos = try library.logins().map {
            Row(server: $0.server, service: "photo", scheme: "api_key", email: $0.email)
        }
        return uploads + photos
    }
}
