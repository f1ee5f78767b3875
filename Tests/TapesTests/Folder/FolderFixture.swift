import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// A home directory with pictures and a folder library.
struct FolderFixture {
    let temporary: TemporaryDirectory
    let data: DataDirectory
    let store: LibraryStore
    let library: FolderLibrary

    /// By default, the root is `Pictures/Tapes` in the home directory, and is not configured.
    init(root: String? = nil, confirm: (@Sendable ([UInt8]) async -> Bool)? = nil) throws {
        temporary = try TemporaryDirectory(isInMemory: true)
        let pictures = temporary.file("Pictures")
        try makeDirectory(pictures + "/2024")
        data = try DataDirectory.open(temporary.file("data"))
        store = try LibraryStore(in: data)
        library = Self.library(root ?? pictures + "/Tapes", isConfigured: root != nil, pictures, data, store, confirm)
    }

    private static func library(
        _ root: String,
        isConfigured: Bool,
        _ pictures: String,
        _ data: DataDirectory,
        _ store: LibraryStore,
        _ confirm: (@Sendable ([UInt8]) async -> Bool)?
    ) -> FolderLibrary {
        FolderLibrary(
            root: FolderLibrary.Root(
                path: Array(root.utf8),
                picturesDirectory: Array(pictures.utf8),
                isConfigured: isConfigured
            ),
            directory: data,
            store: store,
            confirm: confirm
        )
    }

    /// A library at a different path, or this library with a prompt.
    func library(
        at root: String? = nil,
        isConfigured: Bool = false,
        confirm: (@Sendable ([UInt8]) async -> Bool)? = nil
    ) -> FolderLibrary {
        Self.library(root ?? self.root, isConfigured: isConfigured, pictures, data, store, confirm)
    }

    /// The service with the default library of the fixture in a home directory, for another process.
    static func service(in home: String) throws -> AlbumService {
        let (data, pictures) = (try DataDirectory.open(home + "/data"), home + "/Pictures")
        let store = try LibraryStore(in: data)
        let library = library(pictures + "/Tapes", isConfigured: false, pictures, data, store, nil)
        return AlbumService(store: store, directory: data, library: library)
    }

    /// A fixture whose library is created and recorded.
    static func ready(root: String? = nil) async throws -> FolderFixture {
        let fixture = try FolderFixture(root: root)
        #expect(try await fixture.library.requestAccess(.addOnly).state == .authorized)
        try await fixture.remember()
        return fixture
    }

    /// Stores the identity of the library, as the album service does.
    func remember() async throws {
        let identity = try await library.identity()
        var record = AlbumLibraryRecord(kind: library.kind, address: library.address, updatedAt: Date())
        record.libraryID = identity.libraryID
        try store.keep(record)
    }

    var pictures: String { temporary.file("Pictures") }
    var root: String { String(decoding: library.root.path, as: UTF8.self) }
    /// The directory of originals.
    var originals: String { pictures + "/2024" }

    // MARK: Originals

    /// Creates an original.
    /// - Returns: Its path.
    @discardableResult
    func original(_ name: String, _ content: String? = nil) throws -> [UInt8] {
        try original(Array(name.utf8), content ?? name)
    }

    func original(_ name: [UInt8], _ content: String) throws -> [UInt8] {
        let path = Array((originals + "/").utf8) + name
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_CREAT | O_EXCL | O_WRONLY, 0o644)
        try #require(descriptor >= 0)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(content.utf8))
        return path
    }

    func witness() throws -> OriginalsWitness { try OriginalsWitness(originals) }

    // MARK: Albums

    static let tapeID = "0b5b1c8e-5d1f-4a36-9df3-0d5e3f6f8a10"

    func album(_ title: String = "Tapes – Summer", tapeID: String = Self.tapeID) async throws -> MadeAlbum {
        try await library.createAlbum(title: title, tapeID: tapeID)
    }

    /// A fixture whose library has an empty album.
    static func withAlbum() async throws -> (fixture: FolderFixture, album: MadeAlbum) {
        let fixture = try await ready()
        return (fixture, try await fixture.album())
    }

    func assets(_ paths: [[UInt8]]) -> [AlbumAsset] { paths.map { AlbumAsset(id: $0, kind: .image) } }

    func add(_ paths: [[UInt8]], to album: MadeAlbum) async throws -> [AddResult] {
        try await library.add(assets(paths), to: album.id, hint: album.hint)
    }

    /// Path of an entry in the folder of an album.
    func path(_ name: String, in folder: String = "Tapes – Summer") -> String { "\(root)/\(folder)/\(name)" }

    func names(in folder: String = "Tapes – Summer") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root + "/" + folder).sorted()
    }

    func target(_ name: String, in folder: String = "Tapes – Summer") throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: path(name, in: folder))
    }

    func manifest(in folder: String = "Tapes – Summer") throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path(".mediactl-album.json", in: folder)))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    func tape(_ title: String = "Summer") -> TapeRecord {
        TapeRecord(id: Self.tapeID, title: title, createdAt: Date())
    }

    func clip(_ source: [UInt8], kind: ClipRecord.Kind = .image, milliseconds: Int64? = nil) -> ClipRecord {
        var clip = ClipRecord(source, of: Self.tapeID, kind: kind)
        clip.durationMilliseconds = milliseconds
        return clip
    }
}

/// The kind of error that is thrown; nil on success.
func albumErrorKind<Value>(_ body: () async throws -> Value) async throws -> AlbumError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch let error as AlbumError {
        return error.kind
    }
}
