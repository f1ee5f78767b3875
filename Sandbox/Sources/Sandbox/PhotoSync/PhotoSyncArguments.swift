import ArgumentParser

struct PhotoSyncArguments: ParsableArguments, Sendable {
    /// Which build of the server this is (photosync contract, "Two builds matter").
    enum Build: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Uploads belong to their sender.
        case fixed
        /// Uploads have no owner and are purged; only one user can log in again.
        case published
    }

    enum Setup: String, Sendable, CaseIterable, ExpressibleByArgument {
        case complete, incomplete
    }

    @Option(
        name: .customLong("photosync"),
        help: "fixed: uploads belong to their sender; published: to no user, as on the server of 2026-01-11."
    )
    var build = Build.fixed

    @Option(
        name: .customLong("photosync-user"),
        help: """
            EMAIL:PASSWORD[:KEY] of a new user, or of a default one: alice@example.test:alice and bob@example.test:bob, whose \
            API keys are "a11ce" and "b0b" filled with zeros to 64 digits. Without a key, a login issues one. A user that \
            already exists in the data directory is not changed.
            """
    )
    var users: [PhotoSyncUser] = []

    @Option(name: .customLong("photosync-setup"), help: "incomplete: respond with 503 until the setup is complete.")
    var setup = Setup.complete

    /// In milliseconds; a negative value means never.
    @Option(
        name: .customLong("photosync-rewrite"),
        help:
            "Milliseconds between the response to an upload and the rewriting of the photo; 0: before it, off: never.",
        transform: { text in
            guard let number = text == "off" ? -1 : UInt32(text).map({ Int($0) }) else {
                throw ValidationError("--photosync-rewrite must be off or a number, 0 or more.")
            }
            return number
        }
    )
    var rewrite = 0

    @Flag(name: .customLong("photosync-stub"), help: "Sync calls without effect, as in builds without PostgreSQL.")
    var isStub = false

    @Option(name: .customLong("photosync-max-size"), help: "Largest photo in bytes.")
    var maxSize = 52_428_800

    @Option(help: "Serve PhotoSync and captures below a /path, as a reverse proxy does.")
    var basePath = ""

    func validate() throws {
        guard maxSize >= 0 else { throw ValidationError("--photosync-max-size must be 0 or more") }
        guard basePath.isEmpty || basePath.wholeMatch(of: /(\/[^\/]+)+/) != nil else {
            throw ValidationError("--base-path must begin with a slash and must not end with one")
        }
    }

    /// The users of `--photosync-user`, and the default users that it does not redefine.
    var allUsers: [PhotoSyncUser] {
        let named = Set(users.map(\.email))
        return PhotoSyncUser.defaults.filter { !named.contains($0.email) } + users
    }
}

struct PhotoSyncUser: Sendable, Equatable {
    var email: String
    /// Nil if never set.
    var password: String?
    /// Nil for a random one: such a user must log in.
    var apiKey: String?

    static let defaults = [("alice", "a11ce"), ("bob", "b0b")].map { name, start in
        PhotoSyncUser(
            email: name + "@example.test",
            password: name,
            apiKey: start + String(repeating: "0", count: 64 - start.count)
        )
    }
}

extension PhotoSyncUser: ExpressibleByArgument {
    /// Reads `EMAIL:PASSWORD[:KEY]`; a key has 64 hex digits, and the password may be empty.
    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /([^:]+@[^:]+):(.*?)(?::([0-9a-f]{64}))?/) else { return nil }
        self.init(
            email: match.1.lowercased(),
            password: match.2.isEmpty ? nil : String(match.2),
            apiKey: match.3.map(String.init)
        )
    }
}
