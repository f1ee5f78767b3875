internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Tapes

struct TapesLibrary: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library",
        abstract: "Show the photo library, set it up, or request access.",
        discussion: """
            By default the library is a folder of links in your Pictures directory. With library_url, or \
            albums.library: immich, it is an Immich server.

            Examples:
              mediactl tapes library status
              mediactl tapes library init --library-url https://photos.example.org \\
                --api-key-file key.txt
            """,
        subcommands: [TapesLibraryStatus.self, TapesLibraryInit.self, TapesLibraryGrant.self]
    )
}

struct TapesLibraryStatus: ContextCommand {
    static let schema = "mediactl.tapes-library-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the library and its permissions. Changes nothing.",
        discussion: """
            "adding" is required by add; "changing" by verify, repair, album link, and to delete albums.

            Example:
              mediactl tapes library status
            """
    )

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        return try await LibraryRun(session: session, service: try await session.service(connection.key)).status()
    }
}

struct TapesLibraryInit: ContextCommand {
    static let schema = "mediactl.tapes-library-init/1"
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up the library: create the folder of albums, or store the API key of a server.",
        discussion: """
            A key is checked before it is stored, readable only by you. It requires the permissions album.create, \
            albumAsset.create and asset.upload; to read and delete albums and to remove clips, it also requires \
            album.read, album.delete and albumAsset.delete. mediactl logout --server URL removes the key.

            Examples:
              mediactl tapes library init
              mediactl tapes library init --library-url https://photos.example.org \\
                --api-key-file key.txt
            """
    )

    @Flag(name: .shortAndLong, help: "Create the folder of albums without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be done, without doing it. An API key is still checked.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        try console.requireOutput()
        guard session.settings.settings.albumsLibrary.value == .immich else {
            try session.refuse(connection.key)
            let run = LibraryRun(session: session, service: try session.localService(isConfirmed: yes))
            guard !dryRun else { return try await run.status(extra: ["key_kept": false, "dry_run": true]) }
            return run.finish(try await run.request(.addOnly), extra: ["key_kept": false, "dry_run": false])
        }
        return try await keepKey(session)
    }

    private func keepKey(_ session: TapesSession) async throws -> ExitCode {
        let server = try session.libraryServer()
        let address = try session.immichLibrary(key: nil).address
        let key = try await session.search(connection.key, at: server) { try await $0.keyToKeep(for: address) }
        let library = try session.immichLibrary(key: key)
        let run = LibraryRun(session: session, service: session.service(library))
        let status = try await run.request(.addOnly)
        let isUsable = status.addOnly.map { $0.state != .denied && $0.state != .notDetermined } ?? false
        if isUsable, !dryRun {
            try session.store.keep(Login(server: address, apiKey: key))
            session.console.note("stored the key for \(ErrorCatalog.clean(address))")
            try await noteUnusedServer(session, address)
        }
        return run.finish(status, extra: ["key_kept": .bool(isUsable && !dryRun), "dry_run": .bool(dryRun)])
    }

    /// Prints how to use the server at a library's `address` if commands without `--library-url` use a different
    /// library.
    private func noteUnusedServer(_ session: TapesSession, _ address: String) async throws {
        let (settings, environment) = (session.settings, session.console.context.environment)
        let usual = try await Settings.resolve(
            flags: SettingsFlags(profile: settings.flags.profile),
            environment: environment,
            locations: settings.locations
        )
        let other = try usual.addresses[.libraryURL].map { try ServerURL($0.value, allowingPath: true) }
        let isUsed = other.map { "\(ImmichLibrary.base(of: $0))" } == address && usual.albumsLibrary.value == .immich
        guard let server = settings.settings.addresses[.libraryURL]?.value, !isUsed else { return }
        session.console.note(
            "without --library-url, commands use a different library; to use this server, set "
                + "library_url: \(ErrorCatalog.clean(server)) in \(settings.locations.configFile), or MEDIACTL_LIBRARY_URL"
        )
    }
}

struct TapesLibraryGrant: ContextCommand {
    static let schema = "mediactl.tapes-library-grant/1"
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Request access again after a refusal, and update pending albums.",
        discussion: """
            After a library has refused access, commands do not retry every time. This command does; if adding is \
            allowed, it then works like mediactl tapes reconcile --apply.

            Example:
              mediactl tapes library grant
            """
    )

    @Flag(help: "Also request the permissions for verify, repair, album link and deleting albums.")
    var readWrite = false

    @Flag(help: "Do not update pending albums.")
    var noReconcile = false

    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try connection.requireUploads(!noReconcile, otherwise: "cannot be combined with --no-reconcile")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        try console.requireOutput()
        let display = RunDisplay<TapeReading>(console)
        let service = try await session.service(connection.key, progress: display)
        let run = LibraryRun(session: session, service: service)
        let level: AccessLevel = readWrite ? .readWrite : .addOnly
        let status = try await run.request(level)
        var work = (done: 0, code: ExitCode.success)
        if status.addOnly?.state == .authorized, !noReconcile {
            work = try await ReconcileRun(session: session, service: service, display: display).catchUp()
        }
        return run.finish(
            status,
            needs: level,
            work: work.code,
            extra: ["tapes_brought_up_to_date": JSONValue(work.done)]
        )
    }
}

/// `tapes library`: which library is in use and which access it allows.
struct LibraryRun: Sendable {
    let session: TapesSession
    let service: AlbumService

    private var console: Console { session.console }

    /// Shows the status, and changes nothing.
    func status(extra: JSONObject = [:]) async throws -> ExitCode {
        let service = service
        let status = try await console.context.interruption.canceling { try await service.status() }
        return finish(status, isReady: status.addOnly?.willBeCreated == true, extra: extra)
    }

    /// Requests access: creates the root of a folder library, or reads the permissions of a key again.
    func request(_ level: AccessLevel) async throws -> LibraryStatus {
        let service = service
        return try await console.context.interruption.canceling { try await service.requestAccess(level) }
    }

    /// `isReady` means that clips can be added without an additional step, although there is no access yet. `work` is
    /// the exit code of the album updates that followed.
    func finish(
        _ status: LibraryStatus,
        needs level: AccessLevel = .addOnly,
        isReady: Bool = false,
        work: ExitCode = .success,
        extra: JSONObject
    ) -> ExitCode {
        console.text(TextRenderer.library(status, style: console.outputStyle))
        if !service.policy.isEnabled {
            console.note(ReconcileRun.albumsAreOff)
        }
        let access = isReady ? .success : exitCode(status, level)
        let ending = console.ending(access == .success ? work : access)
        if access != .success {
            hint(status)
        }
        return ending.summary(JSONRenderer.library(status, session.settings.settings) + extra)
    }

    /// Returns success only if the library grants the required access.
    private func exitCode(_ status: LibraryStatus, _ level: AccessLevel) -> ExitCode {
        if let reason = status.reason { return reason.exitCode }
        let access = level == .addOnly ? status.addOnly : status.readWrite
        return access?.state == .authorized ? .success : .unauthorized
    }

    /// Prints the next step. A key's permissions cannot be extended from this machine.
    private func hint(_ status: LibraryStatus) {
        let missing = (status.addOnly?.state.missing ?? []) + (status.readWrite?.state.missing ?? [])
        if status.kind == "immich", !missing.isEmpty {
            console.note(
                "create a key with these permissions in the account settings of the server, under API keys; then run "
                    + "mediactl tapes library init"
            )
        } else if let obstacle = status.obstacle ?? status.addOnly?.obstacle {
            console.note(obstacle.hint)
        } else if let reason = status.reason {
            // The hint about access would suggest the command that was just run.
            let hint = reason.isOfAccess ? "to retry: mediactl tapes library grant" : reason.hint
            if let hint { console.note(hint) }
        } else if status.addOnly?.state == .notDetermined, status.kind == "immich" {
            console.note("to store its key: mediactl tapes library init --api-key-file FILE")
        } else if status.addOnly?.state == .notDetermined {
            console.note(
                "to create it: mediactl tapes library init --yes"
            )
        }
    }
}

extension JSONRenderer {
    static func library(_ status: LibraryStatus, _ settings: Settings) -> JSONObject {
        [
            "kind": .string(status.kind), "address": .string(status.address),
            "library_id": JSONValue(status.identity?.libraryID), "account_id": JSONValue(status.identity?.accountID),
            "key_id": JSONValue(status.identity?.keyID), "name": JSONValue(status.identity?.name),
            "add_only": access(status.addOnly), "read_write": access(status.readWrite),
            "reason": JSONValue(status.reason?.rawValue),
            "detail": .nonEmpty(status.detail),
            "albums_enabled": .bool(settings.albumsEnabled.value), "may_upload": .bool(settings.albumsUpload.value),
            "deletes_albums": .bool(settings.deleteAssociatedAlbum.value),
        ]
    }

    private static func access(_ access: AlbumAccess?) -> JSONValue {
        guard let access else { return .null }
        return .object([
            "state": .string(access.state.code), "missing": .array(access.state.missing.map { .string($0) }),
            "detail": .nonEmpty(access.detail),
        ])
    }
}

extension AlbumAccess.State {
    var code: String {
        switch self {
        case .notDetermined: "not_determined"
        case .restricted: "restricted"
        case .denied: "denied"
        case .limited: "limited"
        case .authorized: "authorized"
        }
    }

    /// The missing permissions, by the names that the library uses.
    var missing: [String] {
        if case .limited(let missing) = self { missing } else { [] }
    }
}

extension TextRenderer {
    static func library(_ status: LibraryStatus, style: Style) -> [String] {
        fields(
            [
                ("library", status.kind), (status.kind == "folder" ? "location" : "server", status.address),
                ("id", status.identity?.libraryID ?? "-"), ("name", status.identity?.name ?? "-"),
                ("adding", words(for: status.addOnly)), ("changing", words(for: status.readWrite)),
            ]
                + (status.reason.map { [("problem", $0.words + (status.detail.isEmpty ? "" : ": \(status.detail)"))] }
                    ?? []),
            style
        )
    }

    private static func words(for access: AlbumAccess?) -> String {
        guard let access else { return "unknown" }
        let detail = access.detail.isEmpty ? "" : ": \(access.detail)"
        return switch access.state {
        case .notDetermined where access.willBeCreated: "will be created by the first add"
        case .notDetermined: "not set up\(detail)"
        case .restricted: "not permitted\(detail)"
        case .denied: "denied\(detail)"
        case .limited(let missing):
            "limited" + (missing.isEmpty ? detail : ": \(missing.joined(separator: ", ")) missing")
        case .authorized: "allowed"
        }
    }
}
