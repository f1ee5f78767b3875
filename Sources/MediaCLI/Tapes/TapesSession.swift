internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Synchronization
internal import Tapes

/// Shared by all `tapes` commands: the open store and the configured library. Opening it does not contact the library.
struct TapesSession: Sendable {
    let settings: SettingsSession
    let directory: DataDirectory
    let store: LibraryStore

    var console: Console { settings.console }

    var editor: TapeEditor { TapeEditor(store: store, now: console.context.now) }

    /// Opens the store, prints a warning for each repair, and marks tapes with clips but no album as pending (rule
    /// R13).
    static func open(
        _ settings: SettingsSession,
        for access: StoreSession.Access = .writing
    ) throws -> TapesSession {
        let (directory, store) = try StoreSession.library(settings, for: access)
        do throws(StoreError) {
            try store.markUntriedTapes()
        } catch {
            // Reading works even if nothing can be stored.
            guard access == .reading else { throw error }
        }
        return TapesSession(settings: settings, directory: directory, store: store)
    }

    static func open(
        _ console: Console,
        _ global: GlobalOptions,
        _ connection: some ConnectionFlags,
        for access: StoreSession.Access = .writing
    ) async throws -> TapesSession {
        try open(await SettingsSession.open(console, global: global, connection: connection), for: access)
    }

    /// The tape with this ID, ID prefix or title.
    func tape(_ name: String) throws(TapesError) -> TapeRecord {
        try editor.tape(named: String(decoding: RawArguments.bytes(of: name), as: UTF8.self))
    }

    /// The clip in a tape with this number, file name, ID or ID prefix.
    func clip(_ name: String, of tape: TapeRecord) throws(TapesError) -> ClipRecord {
        try editor.clip(named: RawArguments.bytes(of: name), of: tape)
    }

    // MARK: Albums

    /// Updates the folder of an album after a change to its tape. An album on a server has no order: the server is not
    /// contacted, and the outcome is `.skipped`. Returns nil if a signal stopped the update.
    ///
    /// - Throws: `TapesError` if the store cannot be used.
    func rearrange(_ tape: TapeRecord) async throws -> AlbumOutcome? {
        guard settings.settings.albumsEnabled.value, settings.settings.albumsLibrary.value == .folder else {
            return .skipped
        }
        let display = RunDisplay<TapeReading>(console)
        let service = try localService()
        return try await display.albumWork { try await service.rearrange(tape.id) }
    }

    /// The albums in the configured library, for local work that does not need a key. With `isConfirmed`, the root of a
    /// folder library is created without a prompt.
    func localService(isConfirmed: Bool = false) throws -> AlbumService {
        try service(library(key: nil, progress: nil, isConfirmed: isConfirmed))
    }

    /// The albums in the configured library. `key` is for a server; `progress` shows uploads to it.
    func service(_ key: KeyOptions, progress: RunDisplay<TapeReading>? = nil) async throws -> AlbumService {
        guard settings.settings.albumsEnabled.value, settings.settings.albumsLibrary.value == .immich else {
            try refuse(key)
            return try service(library(key: nil, progress: progress))
        }
        return try service(library(key: try await libraryKey(key), progress: progress))
    }

    /// - Throws: `UserFacingError` (usage) if a key was specified for a library that is a folder.
    func refuse(_ key: KeyOptions) throws(UserFacingError) {
        guard settings.settings.albumsLibrary.value == .folder, key.apiKeyFile != nil || key.apiKeyStdin else { return }
        throw .usage(
            "an API key is for an Immich server, but the album library is a folder",
            hint: "to use a server, specify --library-url URL"
        )
    }

    /// Uses only the stored key: keys from flags and environment are for a different server.
    func keptService(progress: RunDisplay<TapeReading>?) throws -> AlbumService {
        let isServer = settings.settings.albumsEnabled.value && settings.settings.albumsLibrary.value == .immich
        return try service(library(key: isServer ? keptKey(at: libraryServer()) : nil, progress: progress))
    }

    func service(_ library: any AlbumLibrary) -> AlbumService {
        let values = settings.settings
        return AlbumService(
            store: store,
            directory: directory,
            library: library,
            policy: AlbumService.Policy(
                isEnabled: values.albumsEnabled.value,
                mayUpload: values.albumsUpload.value,
                deletesAlbums: values.deleteAssociatedAlbum.value
            ),
            now: console.context.now,
            report: { [console] in console.log($0) }
        )
    }

    func library(
        key: String?,
        progress: RunDisplay<TapeReading>?,
        isConfirmed: Bool = false
    ) throws -> any AlbumLibrary {
        switch settings.settings.albumsLibrary.value {
        case .folder: folderLibrary(isConfirmed: isConfirmed)
        case .immich: try immichLibrary(key: key, progress: progress)
        }
    }

    private func folderLibrary(isConfirmed: Bool) -> FolderLibrary {
        let environment = console.context.environment
        let pictures = UserDirectories.pictures(environment: environment)
        let named = settings.settings.albumsFolderRoot?.value
        let home = environment["HOME"].map { $0 + "/Pictures" } ?? settings.locations.dataDirectory
        let usual = (pictures ?? Array(home.utf8)) + Array("/Tapes".utf8)
        let root = FolderLibrary.Root(
            path: named.map { Array($0.utf8) } ?? usual,
            picturesDirectory: pictures,
            isConfigured: named != nil || isConfirmed
        )
        // A missing library, possibly on an unmounted disk, is not created again without confirmation (trap 1).
        var confirm: (@Sendable ([UInt8]) async -> Bool)?
        if isConfirmed {
            confirm = { _ in true }
        } else if settings.prompter.isAllowed {
            confirm = { await mayMake($0) }
        }
        return FolderLibrary(root: root, directory: directory, store: store, confirm: confirm)
    }

    private func mayMake(_ root: [UInt8]) async -> Bool {
        let prompter = settings.prompter
        return await console.context.interruption.prompting {
            await prompter.confirm("Create albums (folders of symbolic links) in \(ErrorCatalog.quoted(root))?")
        }
    }

    func immichLibrary(key: String?, progress: RunDisplay<TapeReading>? = nil) throws -> ImmichLibrary {
        let pathMap = settings.settings.albumsPathMap?.value ?? []
        var show: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)?
        if let progress {
            let uploads = UploadSums()
            show = { path, done, whole in
                var reading = TapeReading(.sending, path: path, done: done, whole: whole)
                reading.uploads = uploads.add(path, done, whole)
                progress.update(reading)
            }
        }
        return ImmichLibrary(
            server: try libraryServer(),
            http: try settings.httpClient(for: .libraryURL),
            key: key,
            timeouts: settings.timeouts,
            store: store,
            pathMap: pathMap.map { (local: Array($0.local.utf8), server: $0.server) },
            jobs: settings.settings.jobs.value,
            progress: show
        )
    }

    /// - Throws: `UserFacingError` if no server is configured; `ServerURLError`.
    func libraryServer() throws -> ServerURL {
        guard let text = settings.settings.addresses[.libraryURL]?.value else {
            throw UserFacingError(
                .noServer,
                "no server configured for the albums",
                hint: "set --library-url URL, MEDIACTL_LIBRARY_URL, or library_url in "
                    + settings.locations.configFile
            )
        }
        return try ServerURL(text, allowingPath: true)
    }

    /// The key from flags or environment, otherwise the stored key; nil if there is none.
    private func libraryKey(_ options: KeyOptions) async throws -> String? {
        let server = try libraryServer()
        if let given = try await search(options, at: server, { try await $0.givenKey() }) { return given }
        return try keptKey(at: server)
    }

    func search<Found: Sendable>(
        _ options: KeyOptions,
        at server: ServerURL,
        _ find: @escaping @Sendable (CredentialSearch) async throws -> Found
    ) async throws -> Found {
        try await settings.search(options.flags, at: server.origin, of: .libraryURL, find: find)
    }

    private func keptKey(at server: ServerURL) throws -> String? {
        guard let kept = try store.login(for: try immichLibrary(key: nil).address) else { return nil }
        try settings.refuseClearText(server.origin, .libraryURL)
        return kept.apiKey
    }
}

/// Totals of the bytes in a command's parallel uploads.
final class UploadSums: Sendable {
    struct Sums: Sendable, Equatable {
        var files: Int
        var done: Int64
        var whole: Int64
    }

    private let uploads = Mutex<[[UInt8]: (done: Int64, whole: Int64)]>([:])

    /// Stores the progress of one file. Returns the totals for all files.
    func add(_ path: [UInt8], _ done: Int64, _ whole: Int64) -> Sums {
        uploads.withLock { uploads in
            uploads[path] = (done, whole)
            return uploads.values.reduce(into: Sums(files: 0, done: 0, whole: 0)) { sums, upload in
                sums.files += 1
                sums.done += upload.done
                sums.whole += upload.whole
            }
        }
    }
}

/// The progress of work on the files of a tape.
struct TapeReading: RunReading {
    enum Phase: String, Sendable {
        /// Uploading an original to a library.
        case sending
        /// Computing checksums.
        case hashing
        /// Rendering a video of the tape.
        case rendering
    }

    var phase: Phase
    var path: [UInt8]
    /// Bytes while sending, files while hashing, milliseconds while rendering.
    var done: Int64
    var whole: Int64
    /// Totals for all files whose upload has started; `done` and `whole` are for `path` only.
    var uploads: UploadSums.Sums?

    init(_ phase: Phase, path: [UInt8], done: Int64, whole: Int64) {
        self.phase = phase
        self.path = path
        self.done = done
        self.whole = whole
    }

    var amount: Int64 { uploads?.done ?? done }
    var percent: Int64? { Progress.percent(uploads?.done ?? done, of: uploads?.whole ?? whole) }

    func line(rate: Double?) -> String {
        let isAlone = (uploads?.files ?? 1) == 1
        let name = isAlone ? ErrorCatalog.quoted(path) : Formats.count(uploads?.files ?? 1, "file")
        let (done, whole) = (uploads?.done ?? self.done, uploads?.whole ?? self.whole)
        let percent = percent.map { ["\($0)%"] } ?? []
        let parts: [String]
        switch phase {
        case .sending:
            parts =
                [name, "\(Formats.bytes(done)) of \(Formats.bytes(whole)) sent"] + percent
                + Progress.rest(done, of: whole, rate: rate) { Formats.bytes($0) }
        case .hashing: parts = ["\(done) of \(Formats.count(whole, "file")) read", name]
        case .rendering:
            let lengths = [done, whole].map { Formats.clock(.milliseconds($0)) }
            parts =
                [name, "\(lengths[0]) of \(lengths[1]) rendered"] + percent
                + Progress.timeLeft(done, of: whole, rate: rate)
        }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "phase": .string(phase.rawValue), "path": .path(path), "done": .integer(done),
            "whole": .integer(whole), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
