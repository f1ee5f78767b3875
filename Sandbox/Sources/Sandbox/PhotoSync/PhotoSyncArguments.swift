import ArgumentParser

/// The arguments about PhotoSync, which set the behavior of that part of a sandbox.
struct PhotoSyncArguments: ParsableArguments, Sendable {
    /// The build of the server (photosync contract, "Two builds matter").
    enum Build: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Uploads belong to the user who sent them.
        case fixed
        /// Uploads have no owner and are purged; only one user can log in again.
        case published
    }

    enum Setup: String, Sendable, CaseIterable, ExpressibleByArgument {
        case complete, incomplete
    }

    @Option(
        name: .customLong("photosync"),
        help: "fixed: uploads belong to their sender; published: to no user, as in the server of 2026-01-11."
    )
    var build = Build.fixed

    @Option(
        name: .customLong("photosync-user"),
        help: """
            EMAIL:PASSWORD[:KEY] of a new user, or of a default one: alice@example.test:alice and bob@example.test:bob, whose \
            API keys are "a11ce" and "b0b" filled with zeros to 64 digits. Without a key only a login gives one. A user that is \
            in the data directory already stays as it is.
            """
    )
    var users: [PhotoSyncUser] = []

    @Option(
        name: .customLong("api-key"),
        help: "EMAIL:KEY: the API key of a user, who is made when missing.",
        transform: { text in
            guard let match = text.wholeMatch(of: /([^:]+@[^:]+):([^:]+)/) else {
                throw ValidationError("--api-key needs EMAIL:KEY")
            }
            return PhotoSyncUser(email: match.1.lowercased(), password: nil, apiKey: String(match.2))
        }
    )
    var keys: [PhotoSyncUser] = []

    @Option(name: .customLong("photosync-setup"), help: "incomplete: answer 503 until the setup is done.")
    var setup = Setup.complete

    /// Milliseconds; negative is never.
    @Option(
        name: .customLong("photosync-rewrite"),
        help: "Milliseconds after an upload's answer until the photo is rewritten; 0 is before it, off is never.",
        transform: { text in
            guard let number = text == "off" ? -1 : UInt32(text).map({ Int($0) }) else {
                throw ValidationError("--photosync-rewrite needs off or a number from 0 on")
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
        guard maxSize >= 0 else { throw ValidationError("--photosync-max-size is a number from 0 on") }
        guard basePath.isEmpty || basePath.wholeMatch(of: /(\/[^\/]+)+/) != nil else {
            throw ValidationError("--base-path begins with a slash and ends without one")
        }
    }

    /// The default users and the specified ones, with their keys.
    var allUsers: [PhotoSyncUser] {
        let named = Set(users.map(\.email))
        var all = PhotoSyncUser.defaults.filter { !named.contains($0.email) } + users
        for key in keys {
            if let index = all.firstIndex(where: { $0.email == key.email }) {
                all[index].apiKey = key.apiKey
            } else {
                all.append(key)
            }
        }
        return all
    }
}

struct PhotoSyncUser: Sendable, Equatable {
    var email: String
    /// Nil if the administrator has never set one.
    var password: String?
    /// Nil creates a random one, which is unknown: such a user must log in.
    var apiKey: String?

    /// Alice and Bob, whose keys consist of their names and zeros.
    static let defaults = [("alice", "a11ce"), ("bob", "b0b")].map { name, start in
        PhotoSyncUser(
            email: name + "@example.test",
            password: name,
            apiKey: start + String(repeating: "0", count: 64 - start.count)
        )
    }
}

extension PhotoSyncUser: ExpressibleByArgument {
    /// Reads `EMAIL:PASSWORD[:KEY]`; a key is 64 hex digits, and an empty password means none.
    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /([^:]+@[^:]+):(.*?)(?::([0-9a-f]{64}))?/) else { return nil }
        self.init(
            email: match.1.lowercased(),
            password: match.2.isEmpty ? nil : String(match.2),
            apiKey: match.3.map(String.init)
        )
    }
}
