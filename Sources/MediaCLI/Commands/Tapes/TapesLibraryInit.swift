internal import ArgumentParser
internal import MediaStore
internal import Tapes

/// `mediactl tapes library init`
struct TapesLibraryInit: ContextCommand {
    static let schema = "mediactl.tapes-library-init/1"
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set the library up: make the folder of albums, or keep the API key of a server.",
        discussion: """
            A key is tried first, and kept readable by you only. It needs the permissions album.create, \
            albumAsset.create and asset.upload; to look at albums, delete them and take clips out also album.read, \
            album.delete and albumAsset.delete. mediactl logout --server URL forgets it.

            Examples:
              mediactl tapes library init
              mediactl tapes library init --library-url https://photos.example.org \\
                --api-key-file key.txt
            """
    )

    @Flag(help: "Only say what would be done. With a key, it is tried.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        try console.requireOutput()
        guard session.settings.settings.albumsLibrary.value == .immich else {
            let run = LibraryRun(session: session, service: try session.localService())
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
            session.console.note("the key is kept for \(ErrorCatalogue.clean(address))")
        }
        return run.finish(status, extra: ["key_kept": .bool(isUsable && !dryRun), "dry_run": .bool(dryRun)])
    }
}
