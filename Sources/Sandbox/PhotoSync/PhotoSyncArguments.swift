import ArgumentParser

/// The arguments about PhotoSync.
struct PhotoSyncArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "fixed: uploads belong to their sender; published: to nobody, as in the server of 2026-01-11.",
            valueName: "build"
        )
    )
    var photosync = PhotoSyncSettings.Build.fixed

    @Option(
        name: .customLong("photosync-user"),
        help: ArgumentHelp(
            """
            Add a user, or replace a default one: alice@example.test:alice and bob@example.test:bob, whose API keys \
            are "a11ce" and "b0b" filled with zeros to 64 digits. Without a key only a login gives one. A user that \
            is in the data directory already stays as it is.
            """,
            valueName: "email:password[:key]"
        )
    )
    var users: [PhotoSyncUser] = []

    @Option(
        name: .customLong("api-key"),
        help: ArgumentHelp("The API key of a user, who is made when missing.", valueName: "email:key")
    )
    var keys: [APIKeyArgument] = []

    @Option(
        help: ArgumentHelp("incomplete: answer 503 until the setup is done.", valueName: "state")
    )
    var photosyncSetup = PhotoSyncSettings.Setup.complete

    @Option(
        help: ArgumentHelp(
            "Rewrite stored photos so long after the upload's answer; 0 before it, off never.",
            valueName: "milliseconds"
        )
    )
    var photosyncRewrite = PhotoSyncSettings.Rewrite.after(milliseconds: 0)

    @Flag(help: "Sync calls without effect, as in builds without PostgreSQL.")
    var photosyncStub = false

    @Option(help: ArgumentHelp("Largest photo.", valueName: "bytes"))
    var photosyncMaxSize = 52_428_800

    @Option(help: ArgumentHelp("Serve PhotoSync below a path, as a reverse proxy does.", valueName: "/path"))
    var basePath = ""

    func validate() throws {
        guard photosyncMaxSize >= 0 else { throw ValidationError("--photosync-max-size is a number from 0 on") }
        guard basePath.isEmpty || basePath.wholeMatch(of: /(\/[^\/]+)+/) != nil else {
            throw ValidationError("--base-path begins with a slash and ends without one")
        }
    }

    var settings: PhotoSyncSettings {
        var settings = PhotoSyncSettings()
        settings.build = photosync
        settings.users = allUsers
        settings.setup = photosyncSetup
        settings.rewrite = photosyncRewrite
        settings.isStub = photosyncStub
        settings.maxSize = photosyncMaxSize
        settings.basePath = basePath
        return settings
    }

    private var allUsers: [PhotoSyncUser] {
        let named = Set(users.map(\.email))
        var all = PhotoSyncUser.defaults.filter { !named.contains($0.email) } + users
        for key in keys {
            if let index = all.firstIndex(where: { $0.email == key.email }) {
                all[index].apiKey = key.key
            } else {
                all.append(PhotoSyncUser(email: key.email, password: nil, apiKey: key.key))
            }
        }
        return all
    }
}

/// `EMAIL:KEY` of the command line.
struct APIKeyArgument: Sendable, ExpressibleByArgument {
    var email: String
    var key: String

    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /([^:]+@[^:]+):([^:]+)/) else { return nil }
        email = match.1.lowercased()
        key = String(match.2)
    }
}
